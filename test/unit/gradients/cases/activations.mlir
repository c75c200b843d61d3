// Composite activations and rotary embedding.
func.func @gelu(%x: tensor<3x5xf64> {check.range = [-3.0, 3.0]}) -> tensor<3x5xf64> {
  %0 = onnx.Gelu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @gelu_tanh(%x: tensor<3x5xf64> {check.range = [-3.0, 3.0]}) -> tensor<3x5xf64> {
  %0 = onnx.Gelu %x {approximate = "tanh"} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @swish(%x: tensor<3x5xf64> {check.range = [-3.0, 3.0]}) -> tensor<3x5xf64> {
  %0 = onnx.Swish %x {alpha = 1.5 : f32} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @swiglu(%g: tensor<3x5xf64>, %u: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = train.swiglu %g, %u : (tensor<3x5xf64>, tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @rotary(%x: tensor<2x2x3x4xf64>, %c: tensor<1x1x3x4xf64> {check.constant}, %s: tensor<3x4xf64> {check.constant}) -> tensor<2x2x3x4xf64> {
  %0 = train.rotary %x, %x, %c, %s : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<1x1x3x4xf64>, tensor<3x4xf64>) -> tensor<2x2x3x4xf64>
  return %0 : tensor<2x2x3x4xf64>
}
func.func @rotary_shared(%x: tensor<2x3x4xf64>, %c: tensor<3x2xf64> {check.constant}, %s: tensor<3x2xf64> {check.constant}) -> tensor<2x3x4xf64> {
  %0 = train.rotary %x, %x, %c, %s : (tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}
func.func @rotary_interleaved(%x: tensor<2x3x4xf64>, %c: tensor<3x4xf64> {check.constant}, %s: tensor<3x4xf64> {check.constant}) -> tensor<2x3x4xf64> {
  %0 = train.rotary %x, %x, %c, %s {interleaved = true} : (tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}
// Between two steps of the quotient, by the sign of either operand.
func.func @mod(%x0: tensor<3x2xf64> {check.range = [2.1, 2.8]}, %y0: tensor<2xf64> {check.range = [0.95, 1.0]}, %x1: tensor<3xf64> {check.range = [-2.8, -2.1]}, %y1: tensor<3xf64> {check.range = [0.95, 1.0]}, %x2: tensor<3xf64> {check.range = [-2.8, -2.1]}, %y2: tensor<3xf64> {check.range = [0.95, 1.0]}) -> (tensor<3x2xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = onnx.Mod %x0, %y0 {fmod = true} : (tensor<3x2xf64>, tensor<2xf64>) -> tensor<3x2xf64>
  %1 = onnx.Mod %x1, %y1 {fmod = true} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %2 = onnx.Mod %x2, %y2 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0, %1, %2 : tensor<3x2xf64>, tensor<3xf64>, tensor<3xf64>
}
