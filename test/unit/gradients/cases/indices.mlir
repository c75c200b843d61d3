// Gathers, scatters and choices: equal indices, negative ones, none at all.
func.func @gather(%x: tensor<4x3xf64>, %i: tensor<2x5xi64> {check.below = 4}, %j: tensor<0xi64>, %y: tensor<3xf64>) -> (tensor<2x5x3xf64>, tensor<4x4xf64>, tensor<0x3xf64>, tensor<f64>) {
  %0 = onnx.Gather %x, %i {axis = 0 : i64} : (tensor<4x3xf64>, tensor<2x5xi64>) -> tensor<2x5x3xf64>
  %c = onnx.Constant dense<[2, -1, 0, 2]> : tensor<4xi64>
  %1 = onnx.Gather %x, %c {axis = 1 : i64} : (tensor<4x3xf64>, tensor<4xi64>) -> tensor<4x4xf64>
  %2 = onnx.Gather %x, %j {axis = 0 : i64} : (tensor<4x3xf64>, tensor<0xi64>) -> tensor<0x3xf64>
  %d = onnx.Constant dense<1> : tensor<i64>
  %3 = onnx.Gather %y, %d {axis = 0 : i64} : (tensor<3xf64>, tensor<i64>) -> tensor<f64>
  return %0, %1, %2, %3 : tensor<2x5x3xf64>, tensor<4x4xf64>, tensor<0x3xf64>, tensor<f64>
}
func.func @gather_elements(%x: tensor<3x4xf64>, %i: tensor<3x2xi64> {check.below = 4}, %j: tensor<1x4xi64> {check.below = 3}, %e: tensor<0x4xf64>, %k: tensor<0x2xi64>) -> (tensor<3x2xf64>, tensor<1x4xf64>, tensor<0x2xf64>) {
  %0 = onnx.GatherElements %x, %i {axis = 1 : i64} : (tensor<3x4xf64>, tensor<3x2xi64>) -> tensor<3x2xf64>
  %1 = onnx.GatherElements %x, %j {axis = 0 : i64} : (tensor<3x4xf64>, tensor<1x4xi64>) -> tensor<1x4xf64>
  %2 = onnx.GatherElements %e, %k {axis = 1 : i64} : (tensor<0x4xf64>, tensor<0x2xi64>) -> tensor<0x2xf64>
  return %0, %1, %2 : tensor<3x2xf64>, tensor<1x4xf64>, tensor<0x2xf64>
}
func.func @gather_nd(%x: tensor<3x4x2xf64>, %i: tensor<5x2xi64> {check.below = 3}, %j: tensor<3x2x1xi64> {check.below = 4}) -> (tensor<5x2xf64>, tensor<3x2x2xf64>) {
  %0 = onnx.GatherND %x, %i {batch_dims = 0 : i64} : (tensor<3x4x2xf64>, tensor<5x2xi64>) -> tensor<5x2xf64>
  %1 = onnx.GatherND %x, %j {batch_dims = 1 : i64} : (tensor<3x4x2xf64>, tensor<3x2x1xi64>) -> tensor<3x2x2xf64>
  return %0, %1 : tensor<5x2xf64>, tensor<3x2x2xf64>
}
func.func @scatter_elements(%x: tensor<3x4xf64>, %u: tensor<3x2xf64>, %i: tensor<3x2xi64> {check.below = 4}, %n: tensor<3x0xf64>, %m: tensor<3x0xi64>) -> (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) {
  %c = onnx.Constant dense<[[0, 2], [3, -3], [1, 0]]> : tensor<3x2xi64>
  %0 = onnx.ScatterElements %x, %c, %u {axis = 1 : i64, reduction = "none"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  %1 = onnx.ScatterElements %x, %i, %u {axis = 1 : i64, reduction = "add"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  %2 = onnx.ScatterElements %x, %m, %n {axis = 1 : i64, reduction = "none"} : (tensor<3x4xf64>, tensor<3x0xi64>, tensor<3x0xf64>) -> tensor<3x4xf64>
  return %0, %1, %2 : tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
}
func.func @scatter_nd(%x: tensor<4x3xf64>, %u: tensor<2x3xf64>, %v: tensor<5xf64>, %i: tensor<5x2xi64> {check.below = 3}) -> (tensor<4x3xf64>, tensor<4x3xf64>) {
  %c = onnx.Constant dense<[[3], [1]]> : tensor<2x1xi64>
  %0 = onnx.ScatterND %x, %c, %u {reduction = "none"} : (tensor<4x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<4x3xf64>
  %1 = onnx.ScatterND %x, %i, %v {reduction = "add"} : (tensor<4x3xf64>, tensor<5x2xi64>, tensor<5xf64>) -> tensor<4x3xf64>
  return %0, %1 : tensor<4x3xf64>, tensor<4x3xf64>
}
// Products with none, one and two zeros at a place; extremes that updates and data share.
func.func @scatter_extremes(%x: tensor<3x4xf64>, %u: tensor<3x2xf64>, %i: tensor<3x2xi64> {check.below = 4}) -> (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) {
  %c = onnx.Constant dense<[[0, 0], [3, -1], [1, 0]]> : tensor<3x2xi64>
  %0 = onnx.ScatterElements %x, %c, %u {axis = 1 : i64, reduction = "max"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  %1 = onnx.ScatterElements %x, %i, %u {axis = 1 : i64, reduction = "min"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  %2 = onnx.ScatterElements %x, %c, %u {axis = 1 : i64, reduction = "mul"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  %z = onnx.Constant dense<[[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf64>
  %v = onnx.Mul %u, %z : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  %3 = onnx.ScatterElements %x, %c, %v {axis = 1 : i64, reduction = "mul"} : (tensor<3x4xf64>, tensor<3x2xi64>, tensor<3x2xf64>) -> tensor<3x4xf64>
  return %0, %1, %2, %3 : tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
}
func.func @scatter_slices(%x: tensor<4x3xf64>, %u: tensor<2x3xf64>, %v: tensor<5xf64>, %i: tensor<5x2xi64> {check.below = 3}) -> (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) {
  %c = onnx.Constant dense<[[1], [1]]> : tensor<2x1xi64>
  %0 = onnx.ScatterND %x, %c, %u {reduction = "max"} : (tensor<4x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<4x3xf64>
  %1 = onnx.ScatterND %x, %i, %v {reduction = "mul"} : (tensor<4x3xf64>, tensor<5x2xi64>, tensor<5xf64>) -> tensor<4x3xf64>
  %2 = onnx.ScatterND %x, %c, %u {reduction = "min"} : (tensor<4x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<4x3xf64>
  return %0, %1, %2 : tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>
}
func.func @reverse_sequence(%x: tensor<4x3x2xf64>, %y: tensor<1x1xf64>) -> (tensor<4x3x2xf64>, tensor<1x1xf64>) {
  %c = onnx.Constant dense<[4, 1, 3]> : tensor<3xi64>
  %0 = onnx.ReverseSequence %x, %c {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x3x2xf64>, tensor<3xi64>) -> tensor<4x3x2xf64>
  %d = onnx.Constant dense<1> : tensor<1xi64>
  %1 = onnx.ReverseSequence %y, %d {batch_axis = 0 : i64, time_axis = 1 : i64} : (tensor<1x1xf64>, tensor<1xi64>) -> tensor<1x1xf64>
  return %0, %1 : tensor<4x3x2xf64>, tensor<1x1xf64>
}
func.func @where(%c: tensor<2x1xi1>, %a: tensor<2x3xf64>, %b: tensor<3xf64>, %s: tensor<f64>, %d: tensor<2x3xi1>, %e: tensor<0x3xf64>, %f: tensor<0x1xi1>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<0x3xf64>) {
  %0 = onnx.Where %c, %a, %b : (tensor<2x1xi1>, tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  %1 = onnx.Where %d, %s, %a : (tensor<2x3xi1>, tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %2 = onnx.Where %f, %e, %b : (tensor<0x1xi1>, tensor<0x3xf64>, tensor<3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<2x3xf64>, tensor<0x3xf64>
}
func.func @clip(%x: tensor<2x5xf64> {check.range = [-2.0, 2.0]}, %l: tensor<f64> {check.range = [-1.0, -0.5]}, %h: tensor<f64> {check.range = [0.5, 1.0]}, %y: tensor<0xf64>, %z: tensor<f64>) -> (tensor<2x5xf64>, tensor<2x5xf64>, tensor<0xf64>, tensor<f64>) {
  %0 = "onnx.Clip"(%x, %l, %h) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x5xf64>, tensor<f64>, tensor<f64>) -> tensor<2x5xf64>
  %1 = "onnx.Clip"(%x, %h) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<2x5xf64>, tensor<f64>) -> tensor<2x5xf64>
  %2 = "onnx.Clip"(%y, %l) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<0xf64>, tensor<f64>) -> tensor<0xf64>
  %3 = "onnx.Clip"(%z, %l, %h) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  return %0, %1, %2, %3 : tensor<2x5xf64>, tensor<2x5xf64>, tensor<0xf64>, tensor<f64>
}
