// RUN: not kedge-opt %s --split-input-file --kedge-insert-fake-quantization="weights=a=int8" 2>&1 | FileCheck %s
// CHECK: error: has no function @model whose weights could be rounded
train.state parameter @a tensor<16x16xf32>
// -----
// CHECK: error: --qat 'a=int8': 'a' is in few bits already: fake quantisation of it is not available yet
train.state frozen @a tensor<32xui8> {onnx_name = "a", tune.encoding = #tune.encoding<uint4 codes of tensor<8x8xf32> double false zero 8 : i64>}
func.func @model(%x: tensor<2x8xf32>, %c: tensor<32xui8> {train.binding = #train.binding<state @a>}, %s: tensor<8x2xf32>) -> tensor<2x8xf32> attributes {train.kind = #train.kind<model>} {
  %w = train.dequantize_blocks %c, %s {axis = 1 : i64, format = #tune.format<uint4>, whole = tensor<8x8xf32>, zero = 8 : i64, zero_pitch = 0 : i64} : (tensor<32xui8>, tensor<8x2xf32>) -> tensor<8x8xf32>
  %y = onnx.MatMul %x, %w {transB = true} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
