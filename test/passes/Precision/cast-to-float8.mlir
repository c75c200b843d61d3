// RUN: kedge-opt %s --kedge-cast-to-float8 --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-cast-to-float8 --kedge-decompose=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: kedge-opt %s --kedge-cast-to-float8 --kedge-decompose=target=cpu | FileCheck %s --check-prefix=CPU

// A tensor is cast once to a type: x for the product and, as rows, for the gradient of its weight.
// CHECK-LABEL: func.func @f
// CHECK: %[[MAXIMA:.*]] = train.row_maxima %arg0 {kedge.place = #forward_h_0} : (tensor<2x16x32xbf16>) -> tensor<2x16xbf16>
// CHECK: %[[SCALE:.*]], %[[INVERSE:.*]] = train.float8_scale %[[MAXIMA]] {{{.*}}to = f8E4M3FN} : (tensor<2x16xbf16>) -> (tensor<f32>, tensor<f32>)
// CHECK: %[[X:.*]] = train.float8_cast %arg0, %[[SCALE]] {{{.*}}to = f8E4M3FN} : (tensor<2x16x32xbf16>, tensor<f32>) -> tensor<2x16x32xf8E4M3FN>
// CHECK: %[[W:.*]] = train.float8_cast %arg1, %{{.*}} -> tensor<64x32xf8E4M3FN>
// CHECK: train.scaled_product %[[X]], %[[W]], %[[INVERSE]], %{{.*}}, %arg2 {{{.*}}transB = true} : (tensor<2x16x32xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<f32>, tensor<f32>, tensor<64xbf16>) -> tensor<2x16x64xbf16>
// CHECK: %[[DY:.*]] = train.float8_cast %arg3, %{{.*}} -> tensor<2x16x64xf8E5M2>
// CHECK: train.scaled_product %[[DY]], %[[W]], {{.*}} {alpha = 5.000000e-01 : f32} : {{.*}} -> tensor<2x16x32xbf16>
// CHECK-DAG: %[[ROWS:.*]] = onnx.Reshape %[[X]] {shape = array<i64: 32, 32>} : (tensor<2x16x32xf8E4M3FN>) -> tensor<32x32xf8E4M3FN>
// CHECK-DAG: %[[DROWS:.*]] = onnx.Reshape %[[DY]] {shape = array<i64: 32, 64>} : (tensor<2x16x64xf8E5M2>) -> tensor<32x64xf8E5M2>
// CHECK: train.scaled_product %[[DROWS]], %[[ROWS]], %{{.*}}, %[[INVERSE]] {transA = true}
// CHECK-NOT: train.float8 =
// CHECK-DAG: 4 kedge-cast-to-float8 products
// CHECK-DAG: 5 kedge-cast-to-float8 tensors cast

// A GPU reads both operands along the summed dim.
// CUDA-LABEL: func.func @f
// CUDA: train.scaled_product {{.*}} {kedge.place = #forward_h_0, transB = true}
// CUDA: %[[WT:.*]] = onnx.Transpose %{{.*}} {perm = array<i64: 1, 0>} : (tensor<64x32xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
// CUDA: train.scaled_product %{{.*}}, %[[WT]], {{.*}}transB = true
// CUDA-DAG: %[[DT:.*]] = onnx.Transpose %{{.*}} : (tensor<32x64xf8E5M2>) -> tensor<64x32xf8E5M2>
// CUDA-DAG: %[[XT:.*]] = onnx.Transpose %{{.*}} : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xf8E4M3FN>
// CUDA: train.scaled_product %[[DT]], %[[XT]], {{.*}} {transB = true}
// CPU-NOT: onnx.Transpose
func.func @f(%x: tensor<2x16x32xbf16>, %w: tensor<64x32xbf16>, %b: tensor<64xbf16>, %dy: tensor<2x16x64xbf16>)
    -> (tensor<2x16x64xbf16>, tensor<2x16x32xbf16>, tensor<64x32xbf16>) {
  %0 = onnx.Gemm %x, %w, %b {transB = true, train.float8 = [f8E4M3FN, f8E4M3FN], kedge.place = #kedge.place<forward "h.0", "up">}
      : (tensor<2x16x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16>
  %1 = onnx.Gemm %dy, %w {alpha = 0.5 : f32, train.float8 = [f8E5M2, f8E4M3FN]} : (tensor<2x16x64xbf16>, tensor<64x32xbf16>) -> tensor<2x16x32xbf16>
  %2 = onnx.Reshape %x {shape = array<i64: 32, 32>} : (tensor<2x16x32xbf16>) -> tensor<32x32xbf16>
  %3 = onnx.Reshape %dy {shape = array<i64: 32, 64>} : (tensor<2x16x64xbf16>) -> tensor<32x64xbf16>
  %4 = onnx.MatMul %3, %2 {transA = true, train.float8 = [f8E5M2, f8E4M3FN]} : (tensor<32x64xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  return %0, %1, %4 : tensor<2x16x64xbf16>, tensor<2x16x32xbf16>, tensor<64x32xbf16>
}

// Tensor cores want sizes in steps of 16: a block of 24 summed and 40 columns gets zeros.
// CUDA-LABEL: func.func @block
// CUDA: %[[SUM:.*]] = train.scaled_product {{.*}} : (tensor<32x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<32x48xf32>
// CUDA: onnx.Slice %[[SUM]] {ends = array<i64: 32, 40>
// CPU-LABEL: func.func @block
// CPU: train.scaled_product {{.*}} : (tensor<32x24xf8E4M3FN>, tensor<24x40xf8E4M3FN>, tensor<f32>, tensor<f32>, tensor<40xbf16>) -> tensor<32x40xbf16>
func.func @block(%x: tensor<32x24xbf16>, %w: tensor<24x40xbf16>, %b: tensor<40xbf16>) -> tensor<32x40xbf16> {
  %0 = onnx.Gemm %x, %w, %b {train.float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<32x24xbf16>, tensor<24x40xbf16>, tensor<40xbf16>) -> tensor<32x40xbf16>
  return %0 : tensor<32x40xbf16>
}
