// RUN: kedge-opt %s --split-input-file --verify-diagnostics
// What is updated together has one shape; what the host writes is one number.

func.func @sgd(%w: tensor<4xf32>, %g: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{failed to verify that all of {param, gradient} have same shape}}
  %0 = train.sgd %w, %g, %s, %s, %s {decay = true, lr_scale = 1.0 : f64}
      : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @rate(%w: tensor<4xf32>, %s: tensor<f32>, %r: tensor<1xf32>) {
  // expected-error @+1 {{operand #4 must be tensor of one float, of rank 0, but got 'tensor<1xf32>'}}
  %0 = train.sgd %w, %w, %s, %s, %r {decay = true, lr_scale = 1.0 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @momentum(%w: tensor<4xf32>, %b: tensor<2x2xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{failed to verify that all of {param, buffer, gradient} have same shape}}
  %0:2 = train.momentum %w, %b, %w, %s, %s, %s, %s {decay = true, lr_scale = 1.0 : f64, nesterov = false}
      : (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<2x2xf32>)
  return
}

// -----

func.func @moments(%w: tensor<4xf32>, %m: tensor<f32>, %s: tensor<f32>) {
  // expected-error @+1 {{failed to verify that all of {param, moment1, moment2, gradient} have same shape}}
  %0:3 = train.adamw %w, %w, %m, %w, %s, %s, %s, %s, %s, %s, %s, %s {decay = true, lr_scale = 1.0 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>,
         tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @accumulate(%a: tensor<4xf32>, %g: tensor<2xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{failed to verify that all of {accumulator, gradient} have same shape}}
  %0 = train.accumulate %a, %g, %n : (tensor<4xf32>, tensor<2xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @micro(%a: tensor<4xf32>, %n: tensor<f32>) {
  // expected-error @+1 {{operand #2 must be tensor<i64>, but got 'tensor<f32>'}}
  %0 = train.accumulate %a, %a, %n : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @basis(%m: tensor<4x4xf32>, %q: tensor<4x3xf32>, %t: tensor<f32>) {
  // expected-error @+2 {{has a matrix 'tensor<4x4xf32>' and a basis 'tensor<4x3xf32>', expected two squares of f32 of one size}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.eigenbasis %m, %q, %t {frequency = 10 : i64} : (tensor<4x4xf32>, tensor<4x3xf32>, tensor<f32>) -> (tensor<4x4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @leading(%m: tensor<4x6xf32>, %q: tensor<4x3xf32>, %t: tensor<f32>) {
  // expected-error @+2 {{and a basis 'tensor<4x3xf32>' of axis 1, expected f32 [m, n] and f32 [m, r] of axis 0 or [n, r] of axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.leading_basis %m, %q, %t {axis = 1 : i64, frequency = 10 : i64} : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @nibbles(%m: tensor<4x128xui8>) {
  // expected-error @+2 {{packs 'tensor<4x128xui8>' and 'tensor<4x128xui8>', expected [blocks, 2, n] of ui8 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.pack_nibbles %m, %m : (tensor<4x128xui8>, tensor<4x128xui8>) -> tensor<4x64xui8>
  return
}

// -----

func.func @halves(%w: tensor<4x128xf32>, %m: tensor<4x64xui8>, %a: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+2 {{has a parameter 'tensor<4x128xf32>', expected [blocks, 2, n]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:5 = train.adam4bit %w, %m, %a, %m, %a, %w, %s, %s, %s, %s, %s, %s, %s, %s {decay = true, decoupled = true, lr_scale = 1.0 : f64}
      : (tensor<4x128xf32>, tensor<4x64xui8>, tensor<4xf32>, tensor<4x64xui8>, tensor<4xf32>, tensor<4x128xf32>, tensor<f32>, tensor<f32>, tensor<f32>,
         tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4x128xf32>, tensor<4x128xui8>, tensor<4xf32>, tensor<4x128xui8>, tensor<4xf32>)
  return
}
