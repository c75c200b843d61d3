// RUN: kedge-opt %s --kedge-choose-float8 -verify-diagnostics

// 15 rows, and a head.
// expected-error@+1 {{--precision fp8: of 2 products of matrices none has rows, columns and summed dimension that are multiples of 16, is computed in bf16, and is not the head; give --precision bf16, or a --shape with a multiple of 16 rows}}
func.func @model(%x: tensor<15x32xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<32x32xbf16> {train.binding = #train.binding<input "w">}) -> tensor<15x32xbf16> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.MatMul %x, %w : (tensor<15x32xbf16>, tensor<32x32xbf16>) -> tensor<15x32xbf16>
  %1 = onnx.MatMul %0, %w : (tensor<15x32xbf16>, tensor<32x32xbf16>) -> tensor<15x32xbf16>
  return %1 : tensor<15x32xbf16>
}
