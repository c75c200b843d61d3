// RUN: kedge-opt %s --split-input-file --kedge-pair-float8-casts --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-pair-float8-casts casts paired

// A tensor of rows is cast and transposed as a matrix; transposes of equal shape are one.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<2x16x32xbf16>, %[[S:.*]]: tensor<f32>
// CHECK: %[[M:.*]] = onnx.Reshape %[[X]] {shape = array<i64: 32, 32>} : (tensor<2x16x32xbf16>) -> tensor<32x32xbf16>
// CHECK: %[[R:.*]], %[[T:.*]] = train.float8_cast_both %[[M]], %[[S]] {to = f8E4M3FN}
// CHECK: %[[W:.*]] = onnx.Reshape %[[R]] {shape = array<i64: 2, 16, 32>}
// CHECK-NOT: train.float8_cast
// CHECK-NOT: onnx.Transpose
// CHECK: return %[[W]], %[[T]], %[[T]]
func.func @rows(%x: tensor<2x16x32xbf16>, %s: tensor<f32>) -> (tensor<2x16x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>) {
  %0 = train.float8_cast %x, %s {to = f8E4M3FN} : (tensor<2x16x32xbf16>, tensor<f32>) -> tensor<2x16x32xf8E4M3FN>
  %1 = onnx.Reshape %0 {shape = array<i64: 32, 32>} : (tensor<2x16x32xf8E4M3FN>) -> tensor<32x32xf8E4M3FN>
  %2 = onnx.Transpose %1 {perm = array<i64: 1, 0>} : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xf8E4M3FN>
  %3 = onnx.Transpose %1 {perm = array<i64: 1, 0>} : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xf8E4M3FN>
  return %0, %2, %3 : tensor<2x16x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>
}

// -----

// Of two shapes the first is paired; the other one reads the cast as before.
// CHECK-LABEL: func.func @shapes
// CHECK: %[[R:.*]], %[[T:.*]] = train.float8_cast_both {{.*}} -> (tensor<8x64xf8E5M2>, tensor<64x8xf8E5M2>)
// CHECK: %[[OTHER:.*]] = onnx.Transpose %{{.*}} -> tensor<32x16xf8E5M2>
// CHECK: return %[[T]], %[[OTHER]]
func.func @shapes(%x: tensor<8x64xbf16>, %s: tensor<f32>) -> (tensor<64x8xf8E5M2>, tensor<32x16xf8E5M2>) {
  %0 = train.float8_cast %x, %s {to = f8E5M2} : (tensor<8x64xbf16>, tensor<f32>) -> tensor<8x64xf8E5M2>
  %1 = onnx.Transpose %0 {perm = array<i64: 1, 0>} : (tensor<8x64xf8E5M2>) -> tensor<64x8xf8E5M2>
  %2 = onnx.Reshape %0 {shape = array<i64: 16, 32>} : (tensor<8x64xf8E5M2>) -> tensor<16x32xf8E5M2>
  %3 = onnx.Transpose %2 {perm = array<i64: 1, 0>} : (tensor<16x32xf8E5M2>) -> tensor<32x16xf8E5M2>
  return %1, %3 : tensor<64x8xf8E5M2>, tensor<32x16xf8E5M2>
}

// -----

// A cast that nothing transposes, and a transposed tensor of another kind, stay.
// CHECK-LABEL: func.func @none
// CHECK: train.float8_cast %
// CHECK: onnx.Transpose
func.func @none(%x: tensor<8x64xbf16>, %s: tensor<f32>) -> (tensor<8x64xf8E5M2>, tensor<64x8xbf16>) {
  %0 = train.float8_cast %x, %s {to = f8E5M2} : (tensor<8x64xbf16>, tensor<f32>) -> tensor<8x64xf8E5M2>
  %1 = onnx.Transpose %x {perm = array<i64: 1, 0>} : (tensor<8x64xbf16>) -> tensor<64x8xbf16>
  return %0, %1 : tensor<8x64xf8E5M2>, tensor<64x8xbf16>
}
