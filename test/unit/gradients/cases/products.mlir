// MatMul and Gemm over ranks, broadcasting, transposition.
func.func @matrix(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @rows(%a: tensor<2x3x4xf64>, %b: tensor<4x5xf64>) -> tensor<2x3x5xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<2x3x4xf64>, tensor<4x5xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @rows_transposed(%a: tensor<2x3x4xf64>, %b: tensor<5x4xf64>) -> tensor<2x3x5xf64> {
  %0 = onnx.MatMul %a, %b {transB = true} : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @batch_broadcast(%a: tensor<2x1x3x4xf64>, %b: tensor<3x4x2xf64>) -> tensor<2x3x3x2xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<2x1x3x4xf64>, tensor<3x4x2xf64>) -> tensor<2x3x3x2xf64>
  return %0 : tensor<2x3x3x2xf64>
}
func.func @shared_left(%a: tensor<3x4xf64>, %b: tensor<2x4x2xf64>) -> tensor<2x3x2xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<3x4xf64>, tensor<2x4x2xf64>) -> tensor<2x3x2xf64>
  return %0 : tensor<2x3x2xf64>
}
func.func @both_transposed(%a: tensor<2x4x3xf64>, %b: tensor<2x5x4xf64>) -> tensor<2x3x5xf64> {
  %0 = onnx.MatMul %a, %b {transA = true, transB = true} : (tensor<2x4x3xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @vectors(%a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<f64> {
  %0 = onnx.MatMul %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @vector_matrix(%a: tensor<4xf64>, %b: tensor<2x4x3xf64>) -> tensor<2x3xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<4xf64>, tensor<2x4x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @matrix_vector(%a: tensor<2x3x4xf64>, %b: tensor<4xf64>) -> tensor<2x3xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<2x3x4xf64>, tensor<4xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @one(%a: tensor<1x1xf64>, %b: tensor<1x1xf64>) -> tensor<1x1xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<1x1xf64>
  return %0 : tensor<1x1xf64>
}
func.func @empty(%a: tensor<0x4xf64>, %b: tensor<4x5xf64>) -> tensor<0x5xf64> {
  %0 = onnx.MatMul %a, %b : (tensor<0x4xf64>, tensor<4x5xf64>) -> tensor<0x5xf64>
  return %0 : tensor<0x5xf64>
}
func.func @gemm(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>, %c: tensor<5xf64>) -> tensor<3x5xf64> {
  %0 = onnx.Gemm %a, %b, %c {alpha = 0.5 : f32, beta = 2.0 : f32} : (tensor<3x4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @gemm_transposed(%a: tensor<4x3xf64>, %b: tensor<5x4xf64>, %c: tensor<3x1xf64>) -> tensor<3x5xf64> {
  %0 = onnx.Gemm %a, %b, %c {transA = true, transB = true} : (tensor<4x3xf64>, tensor<5x4xf64>, tensor<3x1xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @gemm_rows(%a: tensor<2x3x4xf64>, %b: tensor<5x4xf64>, %c: tensor<f64>) -> tensor<2x3x5xf64> {
  %0 = onnx.Gemm %a, %b, %c {transB = true} : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<f64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @gemm_plain(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %0 = onnx.Gemm %a, %b : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
// Rows with a matrix each out of several: two for each row, one from the end; none for the last matrix; transposed; no rows at all.
func.func @grouped(%x: tensor<5x3xf64>, %w: tensor<4x3x2xf64>, %v: tensor<4x2x3xf64>, %i: tensor<5x2xi64> {check.below = 3}, %j: tensor<0x2xi64>, %e: tensor<0x3xf64>) -> (tensor<5x2x2xf64>, tensor<5x1x2xf64>, tensor<0x2x2xf64>) {
  %0 = train.grouped_matmul %x, %i, %w : (tensor<5x3xf64>, tensor<5x2xi64>, tensor<4x3x2xf64>) -> tensor<5x2x2xf64>
  %c = onnx.Constant dense<[[2], [-4], [0], [2], [-1]]> : tensor<5x1xi64>
  %1 = train.grouped_matmul %x, %c, %v {transB = true} : (tensor<5x3xf64>, tensor<5x1xi64>, tensor<4x2x3xf64>) -> tensor<5x1x2xf64>
  %2 = train.grouped_matmul %e, %j, %w : (tensor<0x3xf64>, tensor<0x2xi64>, tensor<4x3x2xf64>) -> tensor<0x2x2xf64>
  return %0, %1, %2 : tensor<5x2x2xf64>, tensor<5x1x2xf64>, tensor<0x2x2xf64>
}
