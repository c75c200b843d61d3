// Convolutions and pools over strides, pads, dilations, groups.
func.func @conv(%x: tensor<2x4x5x4xf64>, %w: tensor<6x2x3x2xf64>, %b: tensor<6xf64>) -> tensor<2x6x3x2xf64> {
  %0 = onnx.Conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 2>, group = 2 : i64}
    : (tensor<2x4x5x4xf64>, tensor<6x2x3x2xf64>, tensor<6xf64>) -> tensor<2x6x3x2xf64>
  return %0 : tensor<2x6x3x2xf64>
}
func.func @conv_line(%x: tensor<2x3x7xf64>, %w: tensor<2x3x3xf64>) -> tensor<2x2x4xf64> {
  %0 = onnx.Conv %x, %w {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>}
    : (tensor<2x3x7xf64>, tensor<2x3x3xf64>) -> tensor<2x2x4xf64>
  return %0 : tensor<2x2x4xf64>
}
func.func @conv_depthwise(%x: tensor<1x3x4x4xf64>, %w: tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64> {
  %0 = onnx.Conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 3 : i64}
    : (tensor<1x3x4x4xf64>, tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64>
  return %0 : tensor<1x3x4x4xf64>
}
func.func @conv_transpose(%x: tensor<2x4x3x2xf64>, %w: tensor<4x3x2x3xf64>, %b: tensor<6xf64>) -> tensor<2x6x7x3xf64> {
  %0 = onnx.ConvTranspose %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 1>,
    output_padding = array<i64: 1, 0>, group = 2 : i64} : (tensor<2x4x3x2xf64>, tensor<4x3x2x3xf64>, tensor<6xf64>) -> tensor<2x6x7x3xf64>
  return %0 : tensor<2x6x7x3xf64>
}
func.func @max_pool(%x: tensor<2x2x5x5xf64>) -> tensor<2x2x3x3xf64> {
  %0 = onnx.MaxPool %x {kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, ceil_mode = true}
    : (tensor<2x2x5x5xf64>) -> tensor<2x2x3x3xf64>
  return %0 : tensor<2x2x3x3xf64>
}
func.func @average_pool(%x: tensor<2x2x5x5xf64>) -> tensor<2x2x3x3xf64> {
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, count_include_pad = true}
    : (tensor<2x2x5x5xf64>) -> tensor<2x2x3x3xf64>
  return %0 : tensor<2x2x3x3xf64>
}
func.func @average_pool_inside(%x: tensor<2x2x5xf64>) -> tensor<2x2x3xf64> {
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>}
    : (tensor<2x2x5xf64>) -> tensor<2x2x3xf64>
  return %0 : tensor<2x2x3xf64>
}
func.func @global_average(%x: tensor<2x3x2x3xf64>) -> tensor<2x3x1x1xf64> {
  %0 = onnx.GlobalAveragePool %x : (tensor<2x3x2x3xf64>) -> tensor<2x3x1x1xf64>
  return %0 : tensor<2x3x1x1xf64>
}
func.func @global_max(%x: tensor<2x3x2x3xf64>) -> tensor<2x3x1x1xf64> {
  %0 = onnx.GlobalMaxPool %x : (tensor<2x3x2x3xf64>) -> tensor<2x3x1x1xf64>
  return %0 : tensor<2x3x1x1xf64>
}
