// RUN: kedge-opt %s --split-input-file --kedge-unpack-in-products --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 4 kedge-unpack-in-products products

// Forward and backward read codes; nothing makes the values any more, which were rounded for one of them.
// CHECK-LABEL: func.func @both
// CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>, %[[Y:.*]]: tensor<8x32xbf16>, %[[C:.*]]: tensor<1024xui8>, %[[S:.*]]: tensor<32xf32>
// CHECK-NOT: train.dequantize
// CHECK-NOT: onnx.Cast
// CHECK: sched.library "onnx.MatMul"(%[[X]], %[[C]], %[[S]])
// CHECK-SAME: unpack = {block = 64 : i64, format = "nf4", shape = array<i64: 64, 32>, type = "f32"}
// CHECK: sched.library "onnx.MatMul"(%[[Y]], %[[C]], %[[S]])
// CHECK-SAME: transB = true, unpack = {block = 64 : i64, format = "nf4", shape = array<i64: 64, 32>, type = "bf16"}
func.func @both(%x: tensor<8x64xf32>, %y: tensor<8x32xbf16>, %c: tensor<1024xui8>, %s: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8x64xbf16>) {
  %w = train.dequantize %c, %s {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<64x32xf32>} : (tensor<1024xui8>, tensor<32xf32>) -> tensor<64x32xf32>
  %narrow = onnx.Cast %w {to = bf16} : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %0 = onnx.MatMul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = onnx.MatMul %y, %narrow {transB = true} : (tensor<8x32xbf16>, tensor<64x32xbf16>) -> tensor<8x64xbf16>
  return %0, %1 : tensor<8x32xf32>, tensor<8x64xbf16>
}

// -----

// Int8 has a scale for each output; they stand behind the bias.
// CHECK-LABEL: func.func @eight
// CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>, %[[C:.*]]: tensor<64x32xi8>, %[[S:.*]]: tensor<1x32xf32>, %[[B:.*]]: tensor<32xf32>
// CHECK-NEXT: sched.library "onnx.Gemm"(%[[X]], %[[C]], %[[B]], %[[S]])
// CHECK-SAME: unpack = {axis = 1 : i64, format = "int8", shape = array<i64: 64, 32>, type = "f32"}
func.func @eight(%x: tensor<8x64xf32>, %c: tensor<64x32xi8>, %s: tensor<1x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %n = onnx.Cast %c {to = f32} : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %w = onnx.Mul %n, %s : (tensor<64x32xf32>, tensor<1x32xf32>) -> tensor<64x32xf32>
  %0 = onnx.Gemm %x, %w, %b : (tensor<8x64xf32>, tensor<64x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// What something else reads, too, is made whole for all.
// CHECK-LABEL: func.func @others
// CHECK: train.dequantize
// CHECK: onnx.MatMul
// CHECK: onnx.MatMul
func.func @others(%x: tensor<8x64xf32>, %y: tensor<32x64xf32>, %c: tensor<1024xui8>, %s: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<32x32xf32>) {
  %w = train.dequantize %c, %s {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<64x32xf32>} : (tensor<1024xui8>, tensor<32xf32>) -> tensor<64x32xf32>
  %0 = onnx.MatMul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = onnx.MatMul %w, %y {transA = true, transB = true} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<32x32xf32>
  return %0, %1 : tensor<8x32xf32>, tensor<32x32xf32>
}

// -----

// Codes of a model's file: zero points stand before the scales.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>, %[[C:.*]]: tensor<1024xui8>, %[[S:.*]]: tensor<32x4xf32>, %[[Z:.*]]: tensor<64xui8>
// CHECK-NEXT: sched.library "onnx.MatMul"(%[[X]], %[[C]], %[[Z]], %[[S]])
// CHECK-SAME: unpack = {axis = 1 : i64, block = 16 : i64, format = "uint4", shape = array<i64: 32, 64>, type = "f32", zero_pitch = 4 : i64}
func.func @blocks(%x: tensor<8x64xf32>, %c: tensor<1024xui8>, %s: tensor<32x4xf32>, %z: tensor<64xui8>) -> tensor<8x32xf32> {
  %w = train.dequantize_blocks %c, %s, %z {axis = 1 : i64, format = #tune.format<uint4>, whole = tensor<32x64xf32>, zero = 0 : i64, zero_pitch = 4 : i64} : (tensor<1024xui8>, tensor<32x4xf32>, tensor<64xui8>) -> tensor<32x64xf32>
  %0 = onnx.MatMul %x, %w {transB = true} : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
