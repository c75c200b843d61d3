// RUN: kedge-opt %s --kedge-choose-float8 --kedge-statistics --split-input-file 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-choose-float8 --kedge-differentiate --split-input-file | FileCheck %s --check-prefix=GRAD

// Rows of all leading dims count together: 4 x 12 of them.
// CHECK-LABEL: func.func @model
// CHECK: onnx.Gemm %arg0, %arg1, %arg2 {train.float8 = [f8E4M3FN, f8E4M3FN], transB = true}
// 12 rows of a matrix in a batch of 4 do not.
// CHECK: onnx.MatMul %{{.*}} : (tensor<4x12x64xbf16>, tensor<4x64x16xbf16>) -> tensor<4x12x16xbf16>
// CHECK: onnx.MatMul %{{.*}} {train.float8 = [f8E4M3FN, f8E4M3FN], transA = true} : (tensor<4x16x64xbf16>, tensor<4x16x32xbf16>)
// What is f32, has 24 columns, or is a row.
// CHECK: onnx.MatMul %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK: onnx.MatMul %{{.*}} : (tensor<4x64x32xbf16>, tensor<32x24xbf16>)
// CHECK: onnx.MatMul %{{.*}} : (tensor<64xbf16>, tensor<64x64xbf16>)
// The head.
// CHECK: onnx.MatMul %{{.*}} : (tensor<4x64x32xbf16>, tensor<32x32xbf16>)
// CHECK-DAG: 2 kedge-choose-float8 products in 8 bits
// CHECK-DAG: 5 kedge-choose-float8 other products
func.func @model(%x: tensor<4x12x32xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<64x32xbf16> {train.binding = #train.binding<input "w">},
                 %b: tensor<64xbf16> {train.binding = #train.binding<input "b">}, %k: tensor<4x64x16xbf16> {train.binding = #train.binding<input "k">},
                 %u: tensor<4x16x64xbf16> {train.binding = #train.binding<input "u">}, %v: tensor<4x16x32xbf16> {train.binding = #train.binding<input "v">},
                 %f: tensor<16x16xf32> {train.binding = #train.binding<input "f">}, %n: tensor<32x24xbf16> {train.binding = #train.binding<input "n">},
                 %r: tensor<64xbf16> {train.binding = #train.binding<input "r">}, %q: tensor<64x64xbf16> {train.binding = #train.binding<input "q">},
                 %h: tensor<32x32xbf16> {train.binding = #train.binding<input "h">}) -> tensor<4x64x32xbf16> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Gemm %x, %w, %b {transB = true} : (tensor<4x12x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16>) -> tensor<4x12x64xbf16>
  %1 = onnx.MatMul %0, %k : (tensor<4x12x64xbf16>, tensor<4x64x16xbf16>) -> tensor<4x12x16xbf16>
  %2 = onnx.MatMul %u, %v {transA = true} : (tensor<4x16x64xbf16>, tensor<4x16x32xbf16>) -> tensor<4x64x32xbf16>
  %3 = onnx.MatMul %f, %f : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = onnx.MatMul %2, %n : (tensor<4x64x32xbf16>, tensor<32x24xbf16>) -> tensor<4x64x24xbf16>
  %5 = onnx.MatMul %r, %q : (tensor<64xbf16>, tensor<64x64xbf16>) -> tensor<64xbf16>
  %6 = onnx.MatMul %2, %h : (tensor<4x64x32xbf16>, tensor<32x32xbf16>) -> tensor<4x64x32xbf16>
  return %6 : tensor<4x64x32xbf16>
}

// -----

// Gradients of a marked product are marked: of dY and what was multiplied.
// GRAD-LABEL: func.func @step
// GRAD: onnx.Gemm %arg0, %arg1 {train.float8 = [f8E4M3FN, f8E4M3FN], transB = true}
// GRAD: onnx.MatMul %{{.*}}, %arg2 {train.float8 = [f8E4M3FN, f8E4M3FN], transA = true}
// GRAD: onnx.MatMul %arg2, %{{.*}} {{.*}}train.float8 = [f8E4M3FN, f8E5M2], transB = true{{.*}} -> tensor<16x32xbf16>
// GRAD: onnx.MatMul %{{.*}} {{.*}}train.float8 = [f8E4M3FN, f8E5M2]{{.*}} -> tensor<16x48xbf16>
// GRAD: onnx.Gemm %{{.*}}, %arg0 {{.*}}train.float8 = [f8E5M2, f8E4M3FN], transA = true{{.*}} -> tensor<32x64xbf16>
train.state parameter @w tensor<32x64xbf16>
train.state parameter @v tensor<16x48xbf16>
func.func @step(%x: tensor<16x64xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<32x64xbf16> {train.binding = #train.binding<state @w>},
                %v: tensor<16x48xbf16> {train.binding = #train.binding<state @v>}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">})
    attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.000000e+00 : f64} {
  %0 = onnx.Gemm %x, %w {transB = true, train.float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<16x64xbf16>, tensor<32x64xbf16>) -> tensor<16x32xbf16>
  %1 = onnx.MatMul %0, %v {transA = true, train.float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<16x32xbf16>, tensor<16x48xbf16>) -> tensor<32x48xbf16>
  %2 = onnx.Cast %1 {to = f32} : (tensor<32x48xbf16>) -> tensor<32x48xf32>
  %3 = onnx.ReduceSum %2 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<32x48xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
