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
