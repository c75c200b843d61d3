// ONNX's losses, weighted, with ignored items, over trailing dims; the losses of --loss.
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
func.func @cross_entropy(%x: tensor<2x3x5xf64>, %y: tensor<2x3xi64> {check.below = 5}, %z: tensor<2x4x3xf64>, %w: tensor<2x3xi64> {check.below = 4}) -> (tensor<2x3xf64>, tensor<2x3xf64>) {
  %0:3 = train.cross_entropy %x, %y {axis = 2 : i64, ignore_index = -100 : i64} : (tensor<2x3x5xf64>, tensor<2x3xi64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  %1:3 = train.cross_entropy %z, %w {axis = 1 : i64, ignore_index = 2 : i64, label_smoothing = 0.1} : (tensor<2x4x3xf64>, tensor<2x3xi64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  return %0#0, %1#0 : tensor<2x3xf64>, tensor<2x3xf64>
}
func.func @cross_entropy_edges(%x: tensor<3x1xf64>, %y: tensor<3xi64> {check.below = 1}, %z: tensor<0x4xf64>, %w: tensor<0xi64> {check.below = 4}) -> (tensor<3xf64>, tensor<0xf64>) {
  %0:3 = train.cross_entropy %x, %y {axis = 1 : i64, ignore_index = -100 : i64} : (tensor<3x1xf64>, tensor<3xi64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  %1:3 = train.cross_entropy %z, %w {axis = 1 : i64, ignore_index = -100 : i64} : (tensor<0x4xf64>, tensor<0xi64>) -> (tensor<0xf64>, tensor<0xf64>, tensor<0xf64>)
  return %0#0, %1#0 : tensor<3xf64>, tensor<0xf64>
}
func.func @bce_with_logits(%x: tensor<2x3xf64>, %y: tensor<2x3xf64> {check.constant, check.range = [0.0, 1.0]}, %z: tensor<f64>, %w: tensor<f64> {check.constant, check.range = [0.0, 1.0]}, %e: tensor<0x2xf64>, %f: tensor<0x2xf64> {check.constant}) -> (tensor<2x3xf64>, tensor<f64>, tensor<0x2xf64>) {
  %0 = train.bce_with_logits %x, %y : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = train.bce_with_logits %z, %w : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %2 = train.bce_with_logits %e, %f : (tensor<0x2xf64>, tensor<0x2xf64>) -> tensor<0x2xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<f64>, tensor<0x2xf64>
}
// With a scale of 1: any other is there to make the gradient differ from the loss's own.
func.func @scale_loss(%x: tensor<f64>) -> tensor<f64> {
  %scale = onnx.Constant dense<1.0> : tensor<f64>
  %0 = train.scale_loss %x, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
