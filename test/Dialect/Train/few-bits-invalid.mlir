// RUN: not kedge-opt %s --split-input-file 2>&1 | FileCheck %s
// CHECK: error: int8 has no table: expected nf4 or fp4
// CHECK: error: makes 'tensor<64xf32>' of codes of 'tensor<32xi8>' in blocks of 64, expected f32 of ui8 in blocks of an even size
// CHECK: error: makes 'tensor<64xf32>' of codes of 'tensor<31xui8>' and 'tensor<1xf32>', which is not half a byte for each element and a number for 64
// CHECK: error: scales 'tensor<300xf32>' in blocks of 256 by 'tensor<1xf32>', expected vectors with a number for each block
// CHECK: error: unpacks codes of 3 bits, expected 2, 4 or 8
// CHECK: error: unpacks 'tensor<8x8xui8>' of 'tensor<64xui8>', expected i8 or ui8 of ui8, with 4 bits for each element
// CHECK: error: nf4 is no format of ONNX
// CHECK: error: makes 'tensor<8x8xf32>' of 'tensor<16xui8>', expected an f32 matrix of ui8, with 4 bits for each element
// CHECK: error: scales 'tensor<8x8xf32>' along axis 1 by 'tensor<8x3xf32>', expected f32 with a number for each of blocks of equal length
// CHECK: error: has zero points 'tensor<4xui8>', expected ui8 with 4 bits for each of rows of 2

func.func @int8(%c: tensor<32xui8>, %a: tensor<1xf32>) -> tensor<64xf32> {
  %0 = train.dequantize %c, %a {format = #tune.format<int8>, block = 64 : i64, whole = tensor<64xf32>} : (tensor<32xui8>, tensor<1xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @type(%c: tensor<32xi8>, %a: tensor<1xf32>) -> tensor<64xf32> {
  %0 = train.dequantize %c, %a {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<64xf32>} : (tensor<32xi8>, tensor<1xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @size(%c: tensor<31xui8>, %a: tensor<1xf32>) -> tensor<64xf32> {
  %0 = train.dequantize %c, %a {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<64xf32>} : (tensor<31xui8>, tensor<1xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @blocks(%x: tensor<300xf32>, %s: tensor<1xf32>) -> tensor<300xf32> {
  %0 = train.scale_blocks %x, %s {block = 256 : i64} : (tensor<300xf32>, tensor<1xf32>) -> tensor<300xf32>
  return %0 : tensor<300xf32>
}

// -----

func.func @bits(%c: tensor<24xui8>) -> tensor<8x8xui8> {
  %0 = train.unpack %c {bits = 3 : i64, whole = tensor<8x8xui8>} : (tensor<24xui8>) -> tensor<8x8xui8>
  return %0 : tensor<8x8xui8>
}

// -----

func.func @bytes(%c: tensor<64xui8>) -> tensor<8x8xui8> {
  %0 = train.unpack %c {bits = 4 : i64, whole = tensor<8x8xui8>} : (tensor<64xui8>) -> tensor<8x8xui8>
  return %0 : tensor<8x8xui8>
}

// -----

func.func @table(%c: tensor<32xui8>, %s: tensor<8x2xf32>) -> tensor<8x8xf32> {
  %0 = train.dequantize_blocks %c, %s {axis = 1 : i64, format = #tune.format<nf4>, whole = tensor<8x8xf32>, zero = 8 : i64, zero_pitch = 0 : i64} : (tensor<32xui8>, tensor<8x2xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @packed(%c: tensor<16xui8>, %s: tensor<8x2xf32>) -> tensor<8x8xf32> {
  %0 = train.dequantize_blocks %c, %s {axis = 1 : i64, format = #tune.format<uint4>, whole = tensor<8x8xf32>, zero = 8 : i64, zero_pitch = 0 : i64} : (tensor<16xui8>, tensor<8x2xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @uneven(%c: tensor<32xui8>, %s: tensor<8x3xf32>) -> tensor<8x8xf32> {
  %0 = train.dequantize_blocks %c, %s {axis = 1 : i64, format = #tune.format<uint4>, whole = tensor<8x8xf32>, zero = 8 : i64, zero_pitch = 0 : i64} : (tensor<32xui8>, tensor<8x3xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @points(%c: tensor<32xui8>, %s: tensor<8x2xf32>, %z: tensor<4xui8>) -> tensor<8x8xf32> {
  %0 = train.dequantize_blocks %c, %s, %z {axis = 1 : i64, format = #tune.format<uint4>, whole = tensor<8x8xf32>, zero = 8 : i64, zero_pitch = 2 : i64} : (tensor<32xui8>, tensor<8x2xf32>, tensor<4xui8>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
