// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-chunk-logits{max-bytes=256}))' | FileCheck %s

// Sums over chunks are f32 and rounded once, behind the last one: the weight's by products that add to f32, the bias' by additions.
// CHECK-LABEL: func.func @step
// CHECK: %[[W0:.*]] = onnx.Gemm %{{.*}}, %[[G0:.*]] {{{.*}}transA = true, wide = true} : (tensor<3x4xbf16>, tensor<3x32xbf16>) -> tensor<4x32xf32>
// CHECK: %[[F0:.*]] = onnx.Cast %[[G0]] {{.*}}-> tensor<3x32xf32>
// CHECK: %[[S0:.*]] = onnx.ReduceSum %[[F0]] {{.*}}-> tensor<32xf32>
// CHECK: %[[W1:.*]] = onnx.Gemm %{{.*}}, %{{.*}}, %[[W0]] {{{.*}}wide = true} : (tensor<3x4xbf16>, tensor<3x32xbf16>, tensor<4x32xf32>) -> tensor<4x32xf32>
// CHECK: %[[S1:.*]] = onnx.Add %[[S0]], %{{.*}} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
// CHECK-DAG: onnx.Cast %[[W1]] {to = bf16}
// CHECK-DAG: onnx.Cast %[[S1]] {to = bf16}
// CHECK: return {{.*}} : tensor<2x3xf32>, tensor<2x3x4xbf16>, tensor<4x32xbf16>, tensor<32xbf16>
func.func @step(%x: tensor<2x3x4xbf16>, %w: tensor<4x32xbf16>, %b: tensor<32xbf16>, %labels: tensor<2x3xi64>, %seed: tensor<f32>)
    -> (tensor<2x3xf32>, tensor<2x3x4xbf16>, tensor<4x32xbf16>, tensor<32xbf16>) attributes {train.kind = #train.kind<step>} {
  %product = onnx.MatMul %x, %w : (tensor<2x3x4xbf16>, tensor<4x32xbf16>) -> tensor<2x3x32xbf16>
  %logits = onnx.Add %product, %b : (tensor<2x3x32xbf16>, tensor<32xbf16>) -> tensor<2x3x32xbf16>
  %losses, %top, %total = train.cross_entropy %logits, %labels {axis = 2 : i64, ignore_index = -100 : i64} : (tensor<2x3x32xbf16>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %g = train.reduce_grad %seed {axes = array<i64: 0, 1>, function = "Sum", shape = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>
  %d = train.cross_entropy_grad %logits, %labels, %top, %total, %g {axis = 2 : i64, ignore_index = -100 : i64} : (tensor<2x3x32xbf16>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x32xbf16>
  %dx = onnx.MatMul %d, %w {transB = true} : (tensor<2x3x32xbf16>, tensor<4x32xbf16>) -> tensor<2x3x4xbf16>
  %x2 = onnx.Reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xbf16>) -> tensor<6x4xbf16>
  %d2 = onnx.Reshape %d {shape = array<i64: 6, 32>} : (tensor<2x3x32xbf16>) -> tensor<6x32xbf16>
  %dw = onnx.MatMul %x2, %d2 {transA = true} : (tensor<6x4xbf16>, tensor<6x32xbf16>) -> tensor<4x32xbf16>
  %db = onnx.ReduceSum %d {axes = array<i64: 0, 1>} : (tensor<2x3x32xbf16>) -> tensor<32xbf16>
  return %losses, %dx, %dw, %db : tensor<2x3xf32>, tensor<2x3x4xbf16>, tensor<4x32xbf16>, tensor<32xbf16>
}
