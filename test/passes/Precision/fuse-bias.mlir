// RUN: kedge-opt %s --kedge-fuse-bias --kedge-statistics 2>&1 | FileCheck %s

// CHECK-LABEL: func.func @model
// CHECK: %[[UP:.*]] = onnx.Gemm %arg0, %arg1, %arg2 {kedge.place = #{{.*}}, transB = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
// CHECK: %[[DOWN:.*]] = onnx.Gemm %[[UP]], %arg1, %arg3 : (tensor<2x3x5xf32>, tensor<5x4xf32>, tensor<4xf32>)
// A product that is read twice, a sum of two products, a column: none is a bias.
// CHECK: %[[TWICE:.*]] = onnx.MatMul %[[DOWN]], %arg1
// CHECK-NEXT: %[[A:.*]] = onnx.Add %[[TWICE]], %arg2
// CHECK-NEXT: %[[B:.*]] = onnx.Add %[[A]], %[[TWICE]]
// CHECK-NEXT: %[[C:.*]] = onnx.MatMul %[[B]], %arg1
// CHECK-NEXT: %[[D:.*]] = onnx.Add %[[C]], %arg4
// CHECK: %[[E:.*]] = onnx.Gemm %[[D]], %arg1 {transB = true}
// CHECK: %[[SCALED:.*]] = onnx.Mul %arg5, %{{.*}} : (tensor<f32>, tensor<f32>)
// CHECK-NEXT: onnx.Add %[[E]], %[[SCALED]]
// CHECK-DAG: 2 kedge-fuse-bias biases joined
// CHECK-DAG: 1 kedge-fuse-bias scalars taken out
module {
  func.func @model(%x: tensor<2x3x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<5x4xf32> {train.binding = #train.binding<input "w">},
                   %b: tensor<5xf32> {train.binding = #train.binding<input "b">}, %c: tensor<4xf32> {train.binding = #train.binding<input "c">},
                   %column: tensor<3x1xf32> {train.binding = #train.binding<input "column">}, %s: tensor<f32> {train.binding = #train.binding<input "s">})
      -> tensor<2x3x5xf32> attributes {train.kind = #train.kind<model>} {
    %0 = onnx.MatMul %x, %w {transB = true, kedge.place = #kedge.place<forward "h.0", "mm">} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
    %1 = onnx.Add %b, %0 : (tensor<5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %2 = onnx.MatMul %1, %w : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
    %3 = onnx.Add %2, %c : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    %4 = onnx.MatMul %3, %w {transB = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
    %5 = onnx.Add %4, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
    %6 = onnx.Add %5, %4 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %7 = onnx.MatMul %6, %w : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
    %8 = onnx.Add %7, %column : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
    %9 = onnx.Gemm %8, %w, %s {transB = true, beta = 2.0 : f32} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<f32>) -> tensor<2x3x5xf32>
    return %9 : tensor<2x3x5xf32>
  }
}
