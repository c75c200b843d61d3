// RUN: kedge-opt %s -split-input-file -verify-diagnostics

func.func @scale(%x: tensor<2x8xf32>, %s: tensor<2x1x8xf32>) {
  // expected-error @+2 {{scale 'tensor<2x1x8xf32>' does not broadcast to 'tensor<2x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = onnx.LayerNormalization %x, %s : (tensor<2x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @gelu(%x: tensor<2x8xf32>) {
  // expected-error @+2 {{Gelu's approximate is none or tanh, found sigmoid}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Gelu %x {approximate = "sigmoid"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @heads(%q: tensor<2x5x4x16xf32>, %k: tensor<2x2x6x16xf32>) {
  // expected-error @+2 {{do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.Attention %q, %k, %k {scale = 0.25} : (tensor<2x5x4x16xf32>, tensor<2x2x6x16xf32>, tensor<2x2x6x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x5x4xf32>)
  return
}

// -----

func.func @attention_dropout(%q: tensor<3x2x4x8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{has ratio 5.000000e-01 and 2 random operands, expected seed, step and row_base}}
  %0:2 = train.Attention %q, %q, %q random(%n, %n) {scale = 0.25, ratio = 0.5 : f32} : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @attention_rows(%q: tensor<3x2x4x8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{has row_size 2, which does not divide the batch of 3}}
  %0:2 = train.Attention %q, %q, %q random(%n, %n, %n) {scale = 0.25, ratio = 0.5 : f32, row_size = 2 : i64} : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @labels(%x: tensor<4x10xf32>, %y: tensor<3xi64>) {
  // expected-error @+2 {{labels 'tensor<3xi64>' do not fit scores 'tensor<4x10xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.nll %x, %y : (tensor<4x10xf32>, tensor<3xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
