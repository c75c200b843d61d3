// LSTM, GRU and RNN through what they are made of: both directions, sequences of other lengths, every optional operand.
func.func @lstm(%x: tensor<3x2x2xf64>, %w: tensor<2x12x2xf64>, %r: tensor<2x12x3xf64>, %b: tensor<2x24xf64>, %h: tensor<2x2x3xf64>, %c: tensor<2x2x3xf64>, %p: tensor<2x9xf64>) -> (tensor<3x2x2x3xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>) {
  %lengths = onnx.Constant dense<[3, 2]> : tensor<2xi32>
  %0:3 = onnx.LSTM %x, %w, %r, %b, %lengths, %h, %c, %p {hidden_size = 3 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>} : (tensor<3x2x2xf64>, tensor<2x12x2xf64>, tensor<2x12x3xf64>, tensor<2x24xf64>, tensor<2xi32>, tensor<2x2x3xf64>, tensor<2x2x3xf64>, tensor<2x9xf64>) -> (tensor<3x2x2x3xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>)
  return %0#0, %0#1, %0#2 : tensor<3x2x2x3xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>
}
func.func @lstm_batch_first(%x: tensor<2x3x2xf64>, %w: tensor<1x12x2xf64>, %r: tensor<1x12x3xf64>, %c: tensor<2x1x3xf64>) -> (tensor<2x3x1x3xf64>, tensor<2x1x3xf64>) {
  %0:3 = onnx.LSTM %x, %w, %r, %c {hidden_size = 3 : i64, direction = "reverse", layout = 1 : i64, input_forget = 1 : i64, clip = 0.9 : f32, activations = ["HardSigmoid", "ScaledTanh", "Softsign"], activation_alpha = array<f32: 0.3, 0.8>, activation_beta = array<f32: 0.4, 0.7>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>} : (tensor<2x3x2xf64>, tensor<1x12x2xf64>, tensor<1x12x3xf64>, tensor<2x1x3xf64>) -> (tensor<2x3x1x3xf64>, tensor<2x1x3xf64>, tensor<2x1x3xf64>)
  return %0#0, %0#2 : tensor<2x3x1x3xf64>, tensor<2x1x3xf64>
}
func.func @gru(%x: tensor<3x2x2xf64>, %w: tensor<2x9x2xf64>, %r: tensor<2x9x3xf64>, %b: tensor<2x18xf64>, %h: tensor<2x2x3xf64>) -> (tensor<3x2x2x3xf64>, tensor<2x2x3xf64>, tensor<3x2x2x3xf64>) {
  %lengths = onnx.Constant dense<[1, 3]> : tensor<2xi32>
  %0:2 = onnx.GRU %x, %w, %r, %b, %lengths, %h {hidden_size = 3 : i64, direction = "bidirectional", linear_before_reset = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>} : (tensor<3x2x2xf64>, tensor<2x9x2xf64>, tensor<2x9x3xf64>, tensor<2x18xf64>, tensor<2xi32>, tensor<2x2x3xf64>) -> (tensor<3x2x2x3xf64>, tensor<2x2x3xf64>)
  %1:2 = onnx.GRU %x, %w, %r, %b {hidden_size = 3 : i64, direction = "bidirectional", activations = ["Sigmoid", "Tanh", "Affine", "Softplus"], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<3x2x2xf64>, tensor<2x9x2xf64>, tensor<2x9x3xf64>, tensor<2x18xf64>) -> (tensor<3x2x2x3xf64>, tensor<2x2x3xf64>)
  return %0#0, %0#1, %1#0 : tensor<3x2x2x3xf64>, tensor<2x2x3xf64>, tensor<3x2x2x3xf64>
}
func.func @rnn(%x: tensor<1x2x2xf64>, %w: tensor<1x3x2xf64>, %r: tensor<1x3x3xf64>, %b: tensor<1x6xf64>, %y: tensor<4x1x2xf64>, %h: tensor<1x1x3xf64>) -> (tensor<1x1x2x3xf64>, tensor<4x1x1x3xf64>, tensor<4x1x1x3xf64>) {
  %0:2 = onnx.RNN %x, %w, %r, %b {hidden_size = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<1x2x2xf64>, tensor<1x3x2xf64>, tensor<1x3x3xf64>, tensor<1x6xf64>) -> (tensor<1x1x2x3xf64>, tensor<1x2x3xf64>)
  %1:2 = onnx.RNN %y, %w, %r, %h {hidden_size = 3 : i64, activations = ["Elu"], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>} : (tensor<4x1x2xf64>, tensor<1x3x2xf64>, tensor<1x3x3xf64>, tensor<1x1x3xf64>) -> (tensor<4x1x1x3xf64>, tensor<1x1x3xf64>)
  %2:2 = onnx.RNN %y, %w, %r {hidden_size = 3 : i64, direction = "reverse", activations = ["LeakyRelu"], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<4x1x2xf64>, tensor<1x3x2xf64>, tensor<1x3x3xf64>) -> (tensor<4x1x1x3xf64>, tensor<1x1x3xf64>)
  return %0#0, %1#0, %2#0 : tensor<1x1x2x3xf64>, tensor<4x1x1x3xf64>, tensor<4x1x1x3xf64>
}
