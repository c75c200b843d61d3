// ONNX's losses, weighted, with ignored items, over trailing dims.
func.func @mean(%x: tensor<4x5xf64>, %y: tensor<4xi64> {check.below = 5}) -> tensor<f64> {
  %0 = onnx.SoftmaxCrossEntropyLoss %x, %y : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @weighted(%x: tensor<3x5x4xf64>, %y: tensor<3x4xi64> {check.below = 5}, %w: tensor<5xf64> {check.constant, check.range = [0.5, 2.0]}) -> tensor<f64> {
  %0 = onnx.SoftmaxCrossEntropyLoss %x, %y, %w {ignore_index = 2 : i64} : (tensor<3x5x4xf64>, tensor<3x4xi64>, tensor<5xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @items(%x: tensor<4x5x2xf64>, %y: tensor<4x2xi64> {check.below = 5}) -> (tensor<4x2xf64>, tensor<4x5x2xf64>) {
  %0:2 = onnx.SoftmaxCrossEntropyLoss %x, %y {reduction = "none", ignore_index = 1 : i64, with_log_prob = true} : (tensor<4x5x2xf64>, tensor<4x2xi64>) -> (tensor<4x2xf64>, tensor<4x5x2xf64>)
  return %0#0, %0#1 : tensor<4x2xf64>, tensor<4x5x2xf64>
}
func.func @nll(%x: tensor<4x5xf64>, %y: tensor<4xi64> {check.below = 5}, %w: tensor<5xf64> {check.constant, check.range = [0.5, 2.0]}) -> tensor<f64> {
  %0 = onnx.NegativeLogLikelihoodLoss %x, %y, %w {reduction = "sum"} : (tensor<4x5xf64>, tensor<4xi64>, tensor<5xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @nll_mean(%x: tensor<4x5x2xf64>, %y: tensor<4x2xi64> {check.below = 5}) -> tensor<f64> {
  %0 = onnx.NegativeLogLikelihoodLoss %x, %y {ignore_index = 0 : i64} : (tensor<4x5x2xf64>, tensor<4x2xi64>) -> tensor<f64>
  return %0 : tensor<f64>
}
