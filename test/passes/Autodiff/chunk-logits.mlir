// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-chunk-logits{max-bytes=512}))' --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-chunk-logits{max-bytes=0}))' | FileCheck %s --check-prefix=WHOLE

// Six rows of 32 logits are 768 bytes: two chunks of three rows. Loss and gradient of a chunk come before the next chunk's
// logits; the weight's gradient is summed by the products, the bias' by additions.
// CHECK-LABEL: func.func @step
// CHECK: %[[X0:.*]] = onnx.Slice {{.*}}ends = array<i64: 3, 4>{{.*}}tensor<3x4xf32>
// CHECK: %[[L0:.*]] = onnx.MatMul %[[X0]], %arg1 {train.chunk = 0 : i64}
// CHECK: %[[B0:.*]] = onnx.Add %[[L0]]
// CHECK: train.cross_entropy %[[B0]], {{.*}}axis = 1
// CHECK: %[[G0:.*]] = train.cross_entropy_grad %[[B0]]
// CHECK: onnx.MatMul %[[G0]], %arg1 {{.*}}transB
// CHECK: %[[W0:.*]] = onnx.MatMul %{{.*}}, %[[G0]] {{.*}}transA = true
// CHECK: %[[S0:.*]] = onnx.ReduceSum %[[G0]] {axes = array<i64: 0>
// CHECK: %[[X1:.*]] = onnx.Slice {{.*}}ends = array<i64: 6, 4>
// CHECK: %[[L1:.*]] = onnx.MatMul %[[X1]], %arg1 {train.chunk = 1 : i64}
// CHECK: %[[G1:.*]] = train.cross_entropy_grad
// CHECK: %[[W1:.*]] = onnx.Gemm %{{.*}}, %[[G1]], %[[W0]] {{.*}}transA = true
// CHECK: onnx.Add %[[S0]],
// CHECK: onnx.Concat {{.*}} -> tensor<6xf32>
// CHECK: return {{.*}} : tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<4x32xf32>, tensor<32xf32>

// What the host reads comes in parts, each with its first element.
// CHECK-LABEL: func.func @predict
// CHECK-SAME: {train.binding = #train.binding<output "logits" part 0 of tensor<2x3x32xf32>>}
// CHECK-SAME: {train.binding = #train.binding<output "logits" part 96 of tensor<2x3x32xf32>>}
// CHECK-NOT: tensor<6x32xf32>

// A norm over the classes is no loss: the region stays whole. So does one that is small enough.
// CHECK-LABEL: func.func @other
// CHECK-NOT: train.chunk
// CHECK: onnx.Softmax
// CHECK-LABEL: func.func @small
// CHECK-NOT: train.chunk
// CHECK: 4 kedge-chunk-logits chunks
// CHECK: 2 kedge-chunk-logits heads

// WHOLE-LABEL: func.func @step
// WHOLE-NOT: train.chunk
// WHOLE: return
func.func @step(%x: tensor<2x3x4xf32>, %w: tensor<4x32xf32>, %b: tensor<32xf32>, %labels: tensor<2x3xi64>, %seed: tensor<f32>)
    -> (tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<4x32xf32>, tensor<32xf32>) attributes {train.kind = #train.kind<step>} {
  %product = onnx.MatMul %x, %w : (tensor<2x3x4xf32>, tensor<4x32xf32>) -> tensor<2x3x32xf32>
  %logits = onnx.Add %product, %b : (tensor<2x3x32xf32>, tensor<32xf32>) -> tensor<2x3x32xf32>
  %losses, %top, %total = train.cross_entropy %logits, %labels {axis = 2 : i64, ignore_index = -100 : i64} : (tensor<2x3x32xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %g = train.reduce_grad %seed {axes = array<i64: 0, 1>, function = "Sum", shape = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>
  %d = train.cross_entropy_grad %logits, %labels, %top, %total, %g {axis = 2 : i64, ignore_index = -100 : i64} : (tensor<2x3x32xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x32xf32>
  %dx = onnx.MatMul %d, %w {transB = true} : (tensor<2x3x32xf32>, tensor<4x32xf32>) -> tensor<2x3x4xf32>
  %x2 = onnx.Reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %d2 = onnx.Reshape %d {shape = array<i64: 6, 32>} : (tensor<2x3x32xf32>) -> tensor<6x32xf32>
  %dw = onnx.MatMul %x2, %d2 {transA = true} : (tensor<6x4xf32>, tensor<6x32xf32>) -> tensor<4x32xf32>
  %db = onnx.ReduceSum %d {axes = array<i64: 0, 1>} : (tensor<2x3x32xf32>) -> tensor<32xf32>
  return %losses, %dx, %dw, %db : tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<4x32xf32>, tensor<32xf32>
}

func.func @predict(%x: tensor<2x3x4xf32>, %w: tensor<32x4xf32>) -> (tensor<2x3x32xf32> {train.binding = #train.binding<output "logits">}) attributes {train.kind = #train.kind<predict>} {
  %logits = onnx.MatMul %x, %w {transB = true} : (tensor<2x3x4xf32>, tensor<32x4xf32>) -> tensor<2x3x32xf32>
  return %logits : tensor<2x3x32xf32>
}

func.func @other(%x: tensor<2x3x4xf32>, %w: tensor<4x32xf32>) -> tensor<2x3x32xf32> {
  %product = onnx.MatMul %x, %w : (tensor<2x3x4xf32>, tensor<4x32xf32>) -> tensor<2x3x32xf32>
  %y = onnx.Softmax %product {axis = 2 : i64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  return %y : tensor<2x3x32xf32>
}

func.func @small(%x: tensor<2x4xf32>, %w: tensor<4x32xf32>) -> (tensor<2x32xf32> {train.binding = #train.binding<output "logits">}) {
  %product = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x32xf32>) -> tensor<2x32xf32>
  return %product : tensor<2x32xf32>
}
