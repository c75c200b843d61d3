// Reductions over one, some, all and no axes, of single elements and of nothing; softmax, running sums, top k.
func.func @reduce_sum(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>, %x8: tensor<2x0xf64>, %x9: tensor<0xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>) {
  %0 = onnx.ReduceSum %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceSum %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceSum %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceSum %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceSum %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceSum %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceSum %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceSum %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  %8 = onnx.ReduceSum %x8 {axes = array<i64: 1>} : (tensor<2x0xf64>) -> tensor<2xf64>
  %9 = onnx.ReduceSum %x9 {axes = array<i64: 0>, keepdims = true} : (tensor<0xf64>) -> tensor<1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>
}
func.func @reduce_mean(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceMean %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceMean %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceMean %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceMean %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceMean %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceMean %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceMean %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceMean %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_max(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceMax %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceMax %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceMax %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceMax %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceMax %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceMax %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceMax %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceMax %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_min(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceMin %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceMin %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceMin %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceMin %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceMin %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceMin %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceMin %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceMin %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_prod(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>, %x8: tensor<2x0xf64>, %x9: tensor<0xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>) {
  %0 = onnx.ReduceProd %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceProd %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceProd %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceProd %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceProd %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceProd %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceProd %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceProd %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  %8 = onnx.ReduceProd %x8 {axes = array<i64: 1>} : (tensor<2x0xf64>) -> tensor<2xf64>
  %9 = onnx.ReduceProd %x9 {axes = array<i64: 0>, keepdims = true} : (tensor<0xf64>) -> tensor<1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>
}
func.func @reduce_l1(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>, %x8: tensor<2x0xf64>, %x9: tensor<0xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>) {
  %0 = onnx.ReduceL1 %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceL1 %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceL1 %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceL1 %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceL1 %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceL1 %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceL1 %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceL1 %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  %8 = onnx.ReduceL1 %x8 {axes = array<i64: 1>} : (tensor<2x0xf64>) -> tensor<2xf64>
  %9 = onnx.ReduceL1 %x9 {axes = array<i64: 0>, keepdims = true} : (tensor<0xf64>) -> tensor<1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>
}
func.func @reduce_l2(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceL2 %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceL2 %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceL2 %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceL2 %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceL2 %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceL2 %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceL2 %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceL2 %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_logsum(%x0: tensor<2x3x4xf64> {check.range = [0.5, 2.0]}, %x1: tensor<2x3x4xf64> {check.range = [0.5, 2.0]}, %x2: tensor<2x3x4xf64> {check.range = [0.5, 2.0]}, %x3: tensor<2x3xf64> {check.range = [0.5, 2.0]}, %x4: tensor<1x1xf64> {check.range = [0.5, 2.0]}, %x5: tensor<1xf64> {check.range = [0.5, 2.0]}, %x6: tensor<0x3xf64> {check.range = [0.5, 2.0]}, %x7: tensor<2x0x3xf64> {check.range = [0.5, 2.0]}) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceLogSum %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceLogSum %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceLogSum %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceLogSum %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceLogSum %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceLogSum %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceLogSum %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceLogSum %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_logsumexp(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>) {
  %0 = onnx.ReduceLogSumExp %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceLogSumExp %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceLogSumExp %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceLogSumExp %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceLogSumExp %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceLogSumExp %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceLogSumExp %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceLogSumExp %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>
}
func.func @reduce_sumsquare(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1x1xf64>, %x5: tensor<1xf64>, %x6: tensor<0x3xf64>, %x7: tensor<2x0x3xf64>, %x8: tensor<2x0xf64>, %x9: tensor<0xf64>) -> (tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>) {
  %0 = onnx.ReduceSumSquare %x0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %1 = onnx.ReduceSumSquare %x1 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %2 = onnx.ReduceSumSquare %x2 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  %3 = onnx.ReduceSumSquare %x3 {axes = array<i64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.ReduceSumSquare %x4 {axes = array<i64: 1>} : (tensor<1x1xf64>) -> tensor<1xf64>
  %5 = onnx.ReduceSumSquare %x5 {axes = array<i64: 0>, keepdims = true} : (tensor<1xf64>) -> tensor<1xf64>
  %6 = onnx.ReduceSumSquare %x6 {axes = array<i64: 1>} : (tensor<0x3xf64>) -> tensor<0xf64>
  %7 = onnx.ReduceSumSquare %x7 {axes = array<i64: 2>, keepdims = true} : (tensor<2x0x3xf64>) -> tensor<2x0x1xf64>
  %8 = onnx.ReduceSumSquare %x8 {axes = array<i64: 1>} : (tensor<2x0xf64>) -> tensor<2xf64>
  %9 = onnx.ReduceSumSquare %x9 {axes = array<i64: 0>, keepdims = true} : (tensor<0xf64>) -> tensor<1xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<2x1x4xf64>, tensor<3xf64>, tensor<f64>, tensor<2x3xf64>, tensor<1xf64>, tensor<1xf64>, tensor<0xf64>, tensor<2x0x1xf64>, tensor<2xf64>, tensor<1xf64>
}
func.func @softmax(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<3x1xf64>, %x4: tensor<1xf64>, %x5: tensor<0x3xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x1xf64>, tensor<1xf64>, tensor<0x3xf64>) {
  %0 = onnx.Softmax %x0 {axis = 0 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %1 = onnx.Softmax %x1 {axis = 1 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %2 = onnx.Softmax %x2 {axis = 2 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %3 = onnx.Softmax %x3 {axis = 1 : i64} : (tensor<3x1xf64>) -> tensor<3x1xf64>
  %4 = onnx.Softmax %x4 {axis = 0 : i64} : (tensor<1xf64>) -> tensor<1xf64>
  %5 = onnx.Softmax %x5 {axis = 1 : i64} : (tensor<0x3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2, %3, %4, %5 : tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x1xf64>, tensor<1xf64>, tensor<0x3xf64>
}
func.func @logsoftmax(%x0: tensor<2x3x4xf64>, %x1: tensor<2x3x4xf64>, %x2: tensor<2x3x4xf64>, %x3: tensor<3x1xf64>, %x4: tensor<1xf64>, %x5: tensor<0x3xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x1xf64>, tensor<1xf64>, tensor<0x3xf64>) {
  %0 = onnx.LogSoftmax %x0 {axis = 0 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %1 = onnx.LogSoftmax %x1 {axis = 1 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %2 = onnx.LogSoftmax %x2 {axis = 2 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %3 = onnx.LogSoftmax %x3 {axis = 1 : i64} : (tensor<3x1xf64>) -> tensor<3x1xf64>
  %4 = onnx.LogSoftmax %x4 {axis = 0 : i64} : (tensor<1xf64>) -> tensor<1xf64>
  %5 = onnx.LogSoftmax %x5 {axis = 1 : i64} : (tensor<0x3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2, %3, %4, %5 : tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<3x1xf64>, tensor<1xf64>, tensor<0x3xf64>
}
func.func @cumsum(%x0: tensor<2x3xf64>, %x1: tensor<2x3xf64>, %x2: tensor<2x3xf64>, %x3: tensor<2x3xf64>, %x4: tensor<1xf64>, %x5: tensor<0x3xf64>, %x6: tensor<2x0xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<1xf64>, tensor<0x3xf64>, tensor<2x0xf64>) {
  %0 = onnx.CumSum %x0 {axis = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = onnx.CumSum %x1 {axis = 0 : i64, exclusive = true} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %2 = onnx.CumSum %x2 {axis = 1 : i64, reverse = true} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %3 = onnx.CumSum %x3 {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = onnx.CumSum %x4 {axis = 0 : i64} : (tensor<1xf64>) -> tensor<1xf64>
  %5 = onnx.CumSum %x5 {axis = 1 : i64} : (tensor<0x3xf64>) -> tensor<0x3xf64>
  %6 = onnx.CumSum %x6 {axis = 1 : i64} : (tensor<2x0xf64>) -> tensor<2x0xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<1xf64>, tensor<0x3xf64>, tensor<2x0xf64>
}
func.func @topk(%x: tensor<2x5xf64>, %y: tensor<3x1xf64>) -> (tensor<2x3xf64>, tensor<2x1xf64>, tensor<1x1xf64>) {
  %0:2 = onnx.TopK %x {k = 3 : i64, axis = 1 : i64} : (tensor<2x5xf64>) -> (tensor<2x3xf64>, tensor<2x3xi64>)
  %1:2 = onnx.TopK %x {k = 1 : i64, axis = 1 : i64, largest = false} : (tensor<2x5xf64>) -> (tensor<2x1xf64>, tensor<2x1xi64>)
  %2:2 = onnx.TopK %y {k = 1 : i64, axis = 0 : i64} : (tensor<3x1xf64>) -> (tensor<1x1xf64>, tensor<1x1xi64>)
  return %0#0, %1#0, %2#0 : tensor<2x3xf64>, tensor<2x1xf64>, tensor<1x1xf64>
}
