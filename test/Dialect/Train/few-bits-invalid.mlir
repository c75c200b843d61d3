// RUN: not kedge-opt %s --split-input-file 2>&1 | FileCheck %s
// CHECK: error: int8 has no table: expected nf4 or fp4
// CHECK: error: makes 'tensor<64xf32>' of codes of 'tensor<32xi8>' in blocks of 64, expected f32 of ui8 in blocks of an even size
// CHECK: error: makes 'tensor<64xf32>' of codes of 'tensor<31xui8>' and 'tensor<1xf32>', which is not half a byte for each element and a number for 64
// CHECK: error: scales 'tensor<300xf32>' in blocks of 256 by 'tensor<1xf32>', expected vectors with a number for each block

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
