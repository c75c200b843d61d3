// Attention: layouts, groups of heads, causal and additive masks, softcap.
func.func @plain(%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x5x4xf64>, %v: tensor<2x2x5x3xf64>) -> tensor<2x2x3x3xf64> {
  %0:2 = train.attention %q, %k, %v {scale = 0.5} : (tensor<2x2x3x4xf64>, tensor<2x2x5x4xf64>, tensor<2x2x5x3xf64>) -> (tensor<2x2x3x3xf64>, tensor<2x2x3xf64>)
  return %0#0 : tensor<2x2x3x3xf64>
}
func.func @causal_groups(%q: tensor<2x3x4x4xf64>, %k: tensor<2x3x2x4xf64>, %v: tensor<2x2x3x4xf64>) -> tensor<2x3x4x4xf64> {
  %0:2 = train.attention %q, %k, %v sees(causal) {scale = 0.7, q_layout = "bthd", k_layout = "bthd", o_layout = "bthd"}
    : (tensor<2x3x4x4xf64>, tensor<2x3x2x4xf64>, tensor<2x2x3x4xf64>) -> (tensor<2x3x4x4xf64>, tensor<2x4x3xf64>)
  return %0#0 : tensor<2x3x4x4xf64>
}
train.state parameter @m tensor<1x2x3x3xf64>
// The mask trains (a relative position bias), broadcast over the batch.
func.func @bias(%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x4xf64>, %m: tensor<1x2x3x3xf64> {train.binding = #train.binding<state @m>}) -> tensor<2x2x3x4xf64> {
  %0:2 = train.attention %q, %k, %v, %m {scale = 0.5, softcap = 2.0} : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<1x2x3x3xf64>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3xf64>)
  return %0#0 : tensor<2x2x3x4xf64>
}
func.func @hidden(%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x4xf64>, %m: tensor<2x1x1x3xi1>) -> tensor<2x2x3x4xf64> {
  %0:2 = train.attention %q, %k, %v, %m {scale = 0.5} : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<2x1x1x3xi1>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3xf64>)
  return %0#0 : tensor<2x2x3x4xf64>
}
// Probabilities drop out: two samples a row; keys no multiple of Philox's four; a causal mask; a mask that trains.
func.func @dropout(%q: tensor<4x2x3x4xf64>, %k: tensor<4x1x5x4xf64>, %v: tensor<4x1x5x3xf64>, %s: tensor<i64> {check.below = 1000}, %t: tensor<i64> {check.below = 1000}, %r: tensor<i64> {check.below = 1000}, %m: tensor<1x2x3x3xf64> {train.binding = #train.binding<state @m>}, %w: tensor<2x2x3x4xf64>) -> (tensor<4x2x3x3xf64>, tensor<2x2x3x4xf64>) attributes {check.random} {
  %0:2 = train.attention %q, %k, %v random(%s, %t, %r) sees(right = 2) {scale = 0.5, ratio = 0.3 : f32, op_id = 5 : i64, row_size = 2 : i64}
    : (tensor<4x2x3x4xf64>, tensor<4x1x5x4xf64>, tensor<4x1x5x3xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<4x2x3x3xf64>, tensor<4x2x3xf64>)
  %1:2 = train.attention %w, %w, %w, %m random(%s, %t, %r) {scale = 0.5, ratio = 0.6 : f32, op_id = 6 : i64}
    : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<1x2x3x3xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3xf64>)
  return %0#0, %1#0 : tensor<4x2x3x3xf64>, tensor<2x2x3x4xf64>
}
// A window; borders of documents, of both samples; sinks that train.
func.func @window(%q: tensor<1x2x5x4xf64>, %k: tensor<1x1x5x4xf64>, %v: tensor<1x1x5x3xf64>) -> tensor<1x2x5x3xf64> {
  %0:2 = train.attention %q, %k, %v sees(causal, left = 1) {scale = 0.5}
    : (tensor<1x2x5x4xf64>, tensor<1x1x5x4xf64>, tensor<1x1x5x3xf64>) -> (tensor<1x2x5x3xf64>, tensor<1x2x5xf64>)
  return %0#0 : tensor<1x2x5x3xf64>
}
func.func @documents(%q: tensor<2x1x5x4xf64>, %d: tensor<2x6xi64> {check.below = 6}) -> tensor<2x1x5x4xf64> {
  %0:2 = train.attention %q, %q, %q documents(%d) sees(right = 1) {scale = 0.5}
    : (tensor<2x1x5x4xf64>, tensor<2x1x5x4xf64>, tensor<2x1x5x4xf64>, tensor<2x6xi64>) -> (tensor<2x1x5x4xf64>, tensor<2x1x5xf64>)
  return %0#0 : tensor<2x1x5x4xf64>
}
train.state parameter @s tensor<2xf64>
func.func @sinks(%q: tensor<2x2x3x4xf64>, %k: tensor<2x1x3x4xf64>, %s: tensor<2xf64> {train.binding = #train.binding<state @s>}) -> tensor<2x2x3x4xf64> {
  %0:2 = train.attention %q, %k, %k sinks(%s) sees(causal) {scale = 0.5, softcap = 2.0}
    : (tensor<2x2x3x4xf64>, tensor<2x1x3x4xf64>, tensor<2x1x3x4xf64>, tensor<2xf64>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3xf64>)
  return %0#0 : tensor<2x2x3x4xf64>
}
