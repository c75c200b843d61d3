// Norms through their statistics; batch norm in training and with running statistics.
func.func @layer(%x: tensor<2x3x5xf64>, %s: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %0:3 = onnx.LayerNormalization %x, %s, %b : (tensor<2x3x5xf64>, tensor<5xf64>, tensor<5xf64>) -> (tensor<2x3x5xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>)
  return %0#0 : tensor<2x3x5xf64>
}
func.func @layer_two_dims(%x: tensor<2x3x4xf64>, %s: tensor<3x4xf64>) -> tensor<2x3x4xf64> {
  %0:3 = onnx.LayerNormalization %x, %s {axis = 1 : i64} : (tensor<2x3x4xf64>, tensor<3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2x1x1xf64>, tensor<2x1x1xf64>)
  return %0#0 : tensor<2x3x4xf64>
}
func.func @layer_broadcast_scale(%x: tensor<2x3x4xf64>, %s: tensor<3x1xf64>, %b: tensor<3x1xf64>) -> tensor<2x3x4xf64> {
  %0:3 = onnx.LayerNormalization %x, %s, %b {axis = 1 : i64} : (tensor<2x3x4xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> (tensor<2x3x4xf64>, tensor<2x1x1xf64>, tensor<2x1x1xf64>)
  return %0#0 : tensor<2x3x4xf64>
}
func.func @rms(%x: tensor<2x3x5xf64>, %s: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %0:2 = onnx.RMSNormalization %x, %s : (tensor<2x3x5xf64>, tensor<5xf64>) -> (tensor<2x3x5xf64>, tensor<2x3x1xf64>)
  return %0#0 : tensor<2x3x5xf64>
}
func.func @group(%x: tensor<2x6x3xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<2x6x3xf64> {
  %0:3 = onnx.GroupNormalization %x, %s, %b {num_groups = 2 : i64} : (tensor<2x6x3xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<2x6x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>)
  return %0#0 : tensor<2x6x3xf64>
}
func.func @group_scales(%x: tensor<2x6x2x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<2x6x2x2xf64> {
  %0:3 = onnx.GroupNormalization %x, %s, %b {num_groups = 3 : i64} : (tensor<2x6x2x2xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x6x2x2xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  return %0#0 : tensor<2x6x2x2xf64>
}
func.func @instance(%x: tensor<2x3x2x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<2x3x2x3xf64> {
  %0:3 = onnx.InstanceNormalization %x, %s, %b : (tensor<2x3x2x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3x2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  return %0#0 : tensor<2x3x2x3xf64>
}
func.func @batch(%x: tensor<3x2x2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<2xf64> {check.constant},
                 %v: tensor<2xf64> {check.constant}) -> tensor<3x2x2x2xf64> {
  %0:5 = train.batch_norm %x, %s, %b, %m, %v : (tensor<3x2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %0#0 : tensor<3x2x2x2xf64>
}
func.func @batch_inference(%x: tensor<3x2x4xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<2xf64> {check.constant},
                           %v: tensor<2xf64> {check.constant, check.range = [0.5, 2.0]}) -> tensor<3x2x4xf64> {
  %0 = onnx.BatchNormalization %x, %s, %b, %m, %v : (tensor<3x2x4xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<3x2x4xf64>
  return %0 : tensor<3x2x4xf64>
}
