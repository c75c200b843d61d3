// RUN: kedge-opt %s --split-input-file --kedge-insert-casts --verify-diagnostics

// expected-error @+1 {{has no function @model to cast}}
module {
}

// -----

// Not all ops know their results' types from their operands.
func.func @model(%x: tensor<2x1x4x4xf32> {train.binding = #train.binding<input "x">}, %y: tensor<2x1x2x2xf32> {train.binding = #train.binding<input "y">}) -> tensor<2x1x4x4xf32> attributes {train.kind = #train.kind<model>} {
  // expected-error @+1 {{cannot be cast: its result types do not follow from its operands}}
  %0 = train.max_pool_grad %y, %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, train.precision = bf16} : (tensor<2x1x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  return %0 : tensor<2x1x4x4xf32>
}
