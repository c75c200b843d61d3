// Dropout by counters; casts that keep f64.
func.func @dropout(%x: tensor<4x6xf64>, %s: tensor<i64> {check.below = 1000}, %t: tensor<i64> {check.below = 1000}, %r: tensor<i64> {check.below = 1000}, %y: tensor<0x3xf64>, %z: tensor<1x1xf64>) -> (tensor<4x6xf64>, tensor<4x6xf64>, tensor<0x3xf64>, tensor<1x1xf64>) attributes {check.random} {
  %0 = train.dropout %x, %s, %t, %r {op_id = 7 : i64, ratio = 0.4 : f32} : (tensor<4x6xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x6xf64>
  %1:2 = train.dropout %x, %s, %t, %r {op_id = 8 : i64, ratio = 0.5 : f32, with_mask = true} : (tensor<4x6xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<4x6xf64>, tensor<4x6xi1>)
  %2 = train.dropout %y, %s, %t, %r {op_id = 9 : i64, ratio = 0.5 : f32} : (tensor<0x3xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<0x3xf64>
  %3 = train.dropout %z, %s, %t, %r {op_id = 9 : i64, ratio = 0.0 : f32} : (tensor<1x1xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x1xf64>
  return %0, %1#0, %2, %3 : tensor<4x6xf64>, tensor<4x6xf64>, tensor<0x3xf64>, tensor<1x1xf64>
}
// Where the batch lies decides which numbers an element draws: two samples a row, rows along dim 1, one row for all; and what
// drops everything, or draws by the same id at another place.
func.func @dropout_rows(%x: tensor<6x4xf64>, %s: tensor<i64> {check.below = 1000}, %t: tensor<i64> {check.below = 1000}, %r: tensor<i64> {check.below = 1000}) -> (tensor<6x4xf64>, tensor<6x4xf64>, tensor<6x4xf64>, tensor<6x4xf64>, tensor<4x6xf64>) attributes {check.random} {
  %0 = train.dropout %x, %s, %t, %r {op_id = 7 : i64, ratio = 0.4 : f32, row_size = 2 : i64} : (tensor<6x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x4xf64>
  %1 = train.dropout %x, %s, %t, %r {op_id = 8 : i64, ratio = 0.4 : f32, batch_axis = 1 : i64, row_size = 2 : i64} : (tensor<6x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x4xf64>
  %2 = train.dropout %x, %s, %t, %r {op_id = 9 : i64, ratio = 0.4 : f32, batch_axis = -1 : i64} : (tensor<6x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x4xf64>
  %3 = train.dropout %x, %s, %t, %r {op_id = 9 : i64, ratio = 1.0 : f32} : (tensor<6x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x4xf64>
  %4 = onnx.Transpose %x {perm = array<i64: 1, 0>} : (tensor<6x4xf64>) -> tensor<4x6xf64>
  %5 = train.dropout %4, %r, %s, %t {op_id = 7 : i64, ratio = 0.4 : f32} : (tensor<4x6xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x6xf64>
  return %0, %1, %2, %3, %5 : tensor<6x4xf64>, tensor<6x4xf64>, tensor<6x4xf64>, tensor<6x4xf64>, tensor<4x6xf64>
}
func.func @cast(%x0: tensor<2x3xf64>, %x1: tensor<f64>, %x2: tensor<0x2xf64>) -> (tensor<2x3xf64>, tensor<f64>, tensor<0x2xf64>) {
  %0 = onnx.Cast %x0 {to = f64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = onnx.Cast %x1 {to = f64} : (tensor<f64>) -> tensor<f64>
  %2 = onnx.Cast %x2 {to = f64} : (tensor<0x2xf64>) -> tensor<0x2xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<f64>, tensor<0x2xf64>
}
