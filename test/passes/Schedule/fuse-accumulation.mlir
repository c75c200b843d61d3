// RUN: kedge-opt %s --split-input-file --kedge-fuse-accumulation --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 3 kedge-fuse-accumulation products joined

// The product adds where it stands; f32 gradients of 16-bit products are not rounded before.
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<4x16xf32>, %[[X16:.*]]: tensor<4x8xbf16>, %[[D16:.*]]: tensor<4x16xbf16>, %[[SUM:.*]]: tensor<8x16xf32>, %[[SUM2:.*]]: tensor<16x8xf32>, %[[MICRO:.*]]: tensor<i64>
// CHECK: %[[A:.*]] = train.accumulate_product %[[X]], %[[D]], %[[SUM]], %[[MICRO]] {transA = true} :
// CHECK-NEXT: %[[B:.*]] = train.accumulate_product %[[D16]], %[[X16]], %[[SUM2]], %[[MICRO]] {transA = true} : (tensor<4x16xbf16>, tensor<4x8xbf16>, tensor<16x8xf32>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: %[[LATER:.*]] = onnx.Tanh
// CHECK-NEXT: return %[[A]], %[[B]], %[[LATER]]
func.func @micro(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %x16: tensor<4x8xbf16>, %d16: tensor<4x16xbf16>, %sum: tensor<8x16xf32>,
                 %sum2: tensor<16x8xf32>, %micro: tensor<i64>) -> (tensor<8x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>) {
  %g = onnx.MatMul %x, %d {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %h = onnx.Gemm %d16, %x16 {transA = true} : (tensor<4x16xbf16>, tensor<4x8xbf16>) -> tensor<16x8xbf16>
  %wide = onnx.Cast %h {to = f32} : (tensor<16x8xbf16>) -> tensor<16x8xf32>
  %later = onnx.Tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = train.accumulate %sum, %g, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  %1 = train.accumulate %sum2, %wide, %micro : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>) -> tensor<16x8xf32>
  return %0, %1, %later : tensor<8x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @doubles
// CHECK: train.accumulate_product
func.func @doubles(%x: tensor<8x4xf64>, %d: tensor<16x4xf64>, %sum: tensor<8x16xf64>, %micro: tensor<i64>) -> tensor<8x16xf64> {
  %g = onnx.MatMul %x, %d {transB = true} : (tensor<8x4xf64>, tensor<16x4xf64>) -> tensor<8x16xf64>
  %0 = train.accumulate %sum, %g, %micro : (tensor<8x16xf64>, tensor<8x16xf64>, tensor<i64>) -> tensor<8x16xf64>
  return %0 : tensor<8x16xf64>
}

// -----

// Gradients of 16 bits and sums of 16 bits, gradients that something else reads, sums of chunks, batches: kernels add them.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: train.accumulate_product
// CHECK: return
func.func @stay(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %x16: tensor<4x8xbf16>, %d16: tensor<4x16xbf16>, %sum: tensor<8x16xf32>,
                %sum16: tensor<8x16xbf16>, %x3: tensor<2x4x8xf32>, %d3: tensor<2x4x16xf32>, %sum3: tensor<2x8x16xf32>, %micro: tensor<i64>)
    -> (tensor<8x16xf32>, tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<2x8x16xf32>) {
  %g16 = onnx.MatMul %x16, %d16 {transA = true} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %0 = train.accumulate %sum, %g16, %micro : (tensor<8x16xf32>, tensor<8x16xbf16>, tensor<i64>) -> tensor<8x16xf32>
  %h16 = onnx.MatMul %x16, %d16 {transA = true} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %1 = train.accumulate %sum16, %h16, %micro : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<i64>) -> tensor<8x16xbf16>
  %g = onnx.MatMul %x, %d {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %2 = train.accumulate %sum, %g, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  %c = onnx.Gemm %x, %d, %sum {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = train.accumulate %sum, %c, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  %g3 = onnx.MatMul %x3, %d3 {transA = true} : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
  %4 = train.accumulate %sum3, %g3, %micro : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<i64>) -> tensor<2x8x16xf32>
  return %0, %1, %g, %2, %3, %4 : tensor<8x16xf32>, tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<2x8x16xf32>
}

// -----

// A sum that is not there yet where the product is.
// CHECK-LABEL: func.func @later
// CHECK: onnx.MatMul
// CHECK: train.accumulate %
func.func @later(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %sum: tensor<8x16xf32>, %micro: tensor<i64>) -> tensor<8x16xf32> {
  %g = onnx.MatMul %x, %d {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %made = onnx.Tanh %sum : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = train.accumulate %made, %g, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// A pipeline's step knows its micro-batches, and runs all of them: the host could tell a product of one alone.
// CHECK-LABEL: func.func @unrolled
// CHECK-NOT: train.accumulate_product
// CHECK: return
func.func @unrolled(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %sum: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %g = onnx.MatMul %x, %d {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %micro = onnx.Constant dense<1> : tensor<i64>
  %0 = train.accumulate %sum, %g, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
