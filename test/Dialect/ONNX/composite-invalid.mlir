// RUN: kedge-opt %s -split-input-file -verify-diagnostics

func.func @scale(%x: tensor<2x8xf32>, %s: tensor<2x1x8xf32>) {
  // expected-error @+2 {{scale 'tensor<2x1x8xf32>' does not broadcast to 'tensor<2x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = onnx.LayerNormalization %x, %s : (tensor<2x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @gelu(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{attribute 'approximate' failed to satisfy constraint: one of none, tanh}}
  %0 = onnx.Gelu %x {approximate = "sigmoid"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @heads(%q: tensor<2x5x4x16xf32>, %k: tensor<2x2x6x16xf32>) {
  // expected-error @+2 {{do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %k, %k {scale = 0.25} : (tensor<2x5x4x16xf32>, tensor<2x2x6x16xf32>, tensor<2x2x6x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x5x4xf32>)
  return
}

// -----

func.func @attention_dropout(%q: tensor<3x2x4x8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{has ratio 5.000000e-01 and 2 random operands, expected seed, step and row_base}}
  %0:2 = train.attention %q, %q, %q random(%n, %n) {scale = 0.25, ratio = 0.5 : f32} : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @attention_rows(%q: tensor<3x2x4x8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{has row_size 2, which does not divide the batch of 3}}
  %0:2 = train.attention %q, %q, %q random(%n, %n, %n) {scale = 0.25, ratio = 0.5 : f32, row_size = 2 : i64} : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @labels(%x: tensor<4x10xf32>, %y: tensor<3xi64>) {
  // expected-error @+2 {{labels 'tensor<3xi64>' do not fit scores 'tensor<4x10xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.nll %x, %y : (tensor<4x10xf32>, tensor<3xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<8xf32>, %c: tensor<8xf32>) {
  // expected-error @+2 {{BatchNormalization needs X [N, C, ...], found 'tensor<8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.BatchNormalization %x, %c, %c, %c, %c
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @batch_norm_channels(%x: tensor<2x8xf32>, %c: tensor<7xf32>) {
  // expected-error @+2 {{BatchNormalization needs 8 elements, one a channel, found 'tensor<7xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.BatchNormalization %x, %c, %c, %c, %c
      : (tensor<2x8xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @loss_reduction(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  // expected-error @+2 {{reduction is none, sum or mean, found middle}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t {reduction = "middle"} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @groups(%x: tensor<2x6x4xf32>, %c: tensor<6xf32>) {
  // expected-error @+2 {{cannot normalise 'tensor<2x6x4xf32>' in 4 groups of channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = onnx.GroupNormalization %x, %c, %c {num_groups = 4 : i64}
      : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @group_scale(%x: tensor<2x6x4xf32>, %c: tensor<5xf32>) {
  // expected-error @+2 {{scale and bias need 6 elements, one a channel, found 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = onnx.GroupNormalization %x, %c, %c {num_groups = 3 : i64}
      : (tensor<2x6x4xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @bias(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<1xf32>) {
  // expected-error @+2 {{scale 'tensor<8xf32>' and bias 'tensor<1xf32>' differ in shape}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = onnx.LayerNormalization %x, %w, %b
      : (tensor<2x8xf32>, tensor<8xf32>, tensor<1xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @attention_rank(%q: tensor<2x4x8xf32>) {
  // expected-error @+2 {{attention needs Q, K, V of rank 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q {scale = 0.25} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @attention_layout(%q: tensor<3x2x4x8xf32>) {
  // expected-error @+1 {{attribute 'q_layout' failed to satisfy constraint: one of bhtd, bthd}}
  %0:2 = train.attention %q, %q, %q {scale = 0.25, q_layout = "tbhd"}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<3x2x4x8xf32>, %m: tensor<4x5xf32>) {
  // expected-error @+3 {{operand shapes do not broadcast: dimension 1 of [4, 5] is 5, expected 1 or 4}}
  // expected-error @+2 {{mask 'tensor<4x5xf32>' does not broadcast to the scores of batch 3, 2 heads, 4 queries, 4 keys}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %m {scale = 0.25}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<4x5xf32>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @attention_ratio(%q: tensor<3x2x4x8xf32>) {
  // expected-error @+1 {{has ratio 2.000000e+00, expected one of [0, 1]}}
  %0:2 = train.attention %q, %q, %q {scale = 0.25, ratio = 2.0 : f32}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @rotary_odd(%x: tensor<3x7xf32>) {
  // expected-error @+2 {{rotary embedding needs X twice, with an even last dim, found 'tensor<3x7xf32>' and 'tensor<3x7xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.rotary %x, %x, %x, %x
      : (tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  return
}

// -----

func.func @rotary_angles(%x: tensor<3x8xf32>, %a: tensor<3x6xf32>) {
  // expected-error @+2 {{angles 'tensor<3x6xf32>' do not fit 'tensor<3x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.rotary %x, %x, %a, %a
      : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @rotary_rows(%x: tensor<1x8xf32>, %a: tensor<3x8xf32>) {
  // expected-error @+2 {{angles 'tensor<3x8xf32>' do not broadcast to 'tensor<1x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.rotary %x, %x, %a, %a
      : (tensor<1x8xf32>, tensor<1x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<1x8xf32>
  return
}

// -----

func.func @swiglu(%x: tensor<3x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+2 {{operands of 'tensor<3x8xf32>' and 'tensor<8xf32>' must have one type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.swiglu %x, %y : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @scores(%x: tensor<4xf32>, %t: tensor<4xi64>) {
  // expected-error @+2 {{scores need a batch and a class dim, found 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.nll %x, %t : (tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @class_weights(%x: tensor<4x8xf32>, %t: tensor<4xi64>, %w: tensor<7xf32>) {
  // expected-error @+2 {{weights need 8 elements, one a class, found 'tensor<7xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.nll %x, %t, %w : (tensor<4x8xf32>, tensor<4xi64>, tensor<7xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @training_norm_rank(%x: tensor<8xf32>, %c: tensor<8xf32>) {
  // expected-error @+2 {{batch_norm needs X [N, C, ...], found 'tensor<8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:5 = train.batch_norm %x, %c, %c, %c, %c
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @training_norm_channels(%x: tensor<2x8xf32>, %c: tensor<7xf32>) {
  // expected-error @+2 {{batch_norm needs 8 elements, one a channel, found 'tensor<7xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:5 = train.batch_norm %x, %c, %c, %c, %c
      : (tensor<2x8xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @class_axis(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  // expected-error @+2 {{class axis 2 is out of range for logits 'tensor<4x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = train.cross_entropy %x, %t {axis = 2 : i64, ignore_index = -100 : i64}
      : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @label_shape(%x: tensor<4x8xf32>, %t: tensor<8xi64>) {
  // expected-error @+2 {{labels have shape [8], expected [4]: the logits' shape without class axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = train.cross_entropy %x, %t {axis = 1 : i64, ignore_index = -100 : i64}
      : (tensor<4x8xf32>, tensor<8xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @attention_counters(%q: tensor<3x2x4x8xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{operand #3 must be variadic of tensor<i64>, but got 'tensor<i32>'}}
  %0:2 = train.attention %q, %q, %q random(%n, %n, %n) {scale = 0.25, ratio = 0.5 : f32}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>)
      -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @attention_gradient_draws(%q: tensor<3x2x4x8xf32>, %l: tensor<3x2x4xf32>) {
  // expected-error @+1 {{has a ratio above 0 without seed, step and row_base}}
  %0:3 = train.attention_grad %q, %q, %q, %q, %q, %l {scale = 0.25, ratio = 0.5 : f32}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
      -> (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>)
  return
}

// -----

func.func @scores(%x: tensor<4xf32>, %t: tensor<4xi64>) {
  // expected-error @+2 {{scores are 'tensor<4xf32>', expected floats of [N, C, ...]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t : (tensor<4xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @labels(%x: tensor<4x8xf32>, %t: tensor<5xi64>) {
  // expected-error @+2 {{labels are 'tensor<5xi64>', expected int32 or int64 of [4], the scores' shape without its classes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.SoftmaxCrossEntropyLoss %x, %t : (tensor<4x8xf32>, tensor<5xi64>) -> tensor<f32>
  return
}

// -----

func.func @class_weights(%x: tensor<4x8xf32>, %t: tensor<4xi64>, %w: tensor<7xf32>) {
  // expected-error @+2 {{weights are 'tensor<7xf32>', expected one of the scores' type for each of 8 classes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.SoftmaxCrossEntropyLoss %x, %t, %w : (tensor<4x8xf32>, tensor<4xi64>, tensor<7xf32>) -> tensor<f32>
  return
}

// -----

func.func @attention_bounds(%q: tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{lets no query see a key, or bounds nothing}}
  %0:2 = train.attention %q, %q, %q sees(left = 1, right = -2) {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  return
}

// -----

func.func @attention_old_words(%q: tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{has 'causal', which is written sees(causal) now, or sees(right = N)}}
  %0:2 = train.attention %q, %q, %q {scale = 0.5, causal = true} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  return
}

// -----

func.func @attention_documents(%q: tensor<2x1x4x4xf32>, %d: tensor<2x4xi64>) {
  // expected-error @+2 {{documents 'tensor<2x4xi64>' are no borders of 2 rows of 4 queries and as many keys: expected i64 [2, 5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q documents(%d) {scale = 0.5} : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x4xi64>) -> (tensor<2x1x4x4xf32>, tensor<2x1x4xf32>)
  return
}

// -----

func.func @attention_sinks(%q: tensor<2x1x4x4xf32>, %s: tensor<2xf32>) {
  // expected-error @+2 {{sinks 'tensor<2xf32>' are no scores of 1 heads}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q sinks(%s) {scale = 0.5} : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2xf32>) -> (tensor<2x1x4x4xf32>, tensor<2x1x4xf32>)
  return
}

// -----

func.func @attention_places(%q: tensor<2x1x4x4xf32>, %p: tensor<3xi64>) {
  // expected-error @+2 {{places 'tensor<3xi64>' of 4 queries: expected i64 [C] with as many in each of C runs}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q places(%p) sees(causal) {scale = 0.5} : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<3xi64>) -> (tensor<2x1x4x4xf32>, tensor<2x1x4xf32>)
  return
}

// -----

func.func @attention_places_of_documents(%q: tensor<2x1x4x4xf32>, %d: tensor<2x5xi64>, %p: tensor<2xi64>) {
  // expected-error @+2 {{queries at places of their own do not go with documents yet}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q documents(%d) places(%p) {scale = 0.5} : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x5xi64>, tensor<2xi64>) -> (tensor<2x1x4x4xf32>, tensor<2x1x4xf32>)
  return
}
