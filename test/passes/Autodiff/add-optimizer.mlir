// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=sgd momentum=0.9 clip-norm=1" --split-input-file | FileCheck %s

// CHECK: train.state parameter @w tensor<3xf32>
// CHECK: train.state momentum @w.momentum tensor<3xf32> from unit {of = @w}
// CHECK-LABEL: func.func @step
// CHECK-SAME: {train.binding = #train.binding<result "grad_norm">}
// CHECK-SAME: {train.binding = #train.binding<state @w>}
// CHECK-SAME: {train.binding = #train.binding<state @w.momentum>}
// CHECK: train.final_gradient @w %[[G:.*]] :
// CHECK: onnx.ReduceSumSquare %[[G]]
// CHECK: train.clip_scale
// CHECK: train.momentum
train.state parameter @w tensor<3xf32>
func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// The norm reads rows of 256 numbers or more where there are such: [64, 3, 3, 3] leaves 64 sums.
// CHECK-LABEL: func.func @step
// CHECK: train.final_gradient @filter %[[G:.*]] :
// CHECK: %[[ROWS:.*]] = onnx.Reshape %[[G]] {{.*}} -> tensor<64x27xf32>
// CHECK: onnx.ReduceSumSquare %[[ROWS]] {axes = array<i64: 1>{{.*}} -> tensor<64xf32>
train.state parameter @filter tensor<64x3x3x3xf32>
func.func @step(%x: tensor<64x3x3x3xf32> {train.binding = #train.binding<input "x">},
                   %w: tensor<64x3x3x3xf32> {train.binding = #train.binding<state @filter>})
    -> (tensor<64x3x3x3xf32> {train.binding = #train.binding<gradient @filter>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Mul %x, %w : (tensor<64x3x3x3xf32>, tensor<64x3x3x3xf32>) -> tensor<64x3x3x3xf32>
  return %0 : tensor<64x3x3x3xf32>
}

// -----

// The norm of many gradients takes few launches: vectors are joined to one row, and so are the sums that others leave.
// CHECK-LABEL: func.func @step
// CHECK: train.final_gradient @w %[[W:.*]] :
// CHECK: train.final_gradient @b %[[B:.*]] :
// CHECK: train.final_gradient @v %[[V:.*]] :
// CHECK: train.final_gradient @c %[[C:.*]] :
// CHECK-DAG: %[[WROWS:.*]] = onnx.ReduceSumSquare %[[W]] {{.*}} -> tensor<64xf32>
// CHECK-DAG: %[[VROWS:.*]] = onnx.ReduceSumSquare %[[V]] {{.*}} -> tensor<32xf32>
// CHECK: %[[SHORT:.*]] = onnx.Concat %[[B]], %[[C]]
// CHECK: onnx.ReduceSumSquare %[[SHORT]] {{.*}} -> tensor<f32>
// CHECK: %[[SUMS:.*]] = onnx.Concat %[[WROWS]], %[[VROWS]]
// CHECK: onnx.ReduceSum %[[SUMS]] {{.*}} -> tensor<f32>
// CHECK-NOT: onnx.ReduceSum
// CHECK: onnx.Sqrt
train.state parameter @w tensor<64x128xf32>
train.state parameter @b tensor<64xf32>
train.state parameter @v tensor<32x96xf32>
train.state parameter @c tensor<96xf32>
func.func @step(%w: tensor<64x128xf32> {train.binding = #train.binding<state @w>}, %b: tensor<64xf32> {train.binding = #train.binding<state @b>},
                %v: tensor<32x96xf32> {train.binding = #train.binding<state @v>}, %c: tensor<96xf32> {train.binding = #train.binding<state @c>})
    -> (tensor<64x128xf32> {train.binding = #train.binding<gradient @w>}, tensor<64xf32> {train.binding = #train.binding<gradient @b>},
        tensor<32x96xf32> {train.binding = #train.binding<gradient @v>}, tensor<96xf32> {train.binding = #train.binding<gradient @c>})
    attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = onnx.Neg %b : (tensor<64xf32>) -> tensor<64xf32>
  %2 = onnx.Neg %v : (tensor<32x96xf32>) -> tensor<32x96xf32>
  %3 = onnx.Neg %c : (tensor<96xf32>) -> tensor<96xf32>
  return %0, %1, %2, %3 : tensor<64x128xf32>, tensor<64xf32>, tensor<32x96xf32>, tensor<96xf32>
}
