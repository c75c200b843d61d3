// RUN: kedge-opt %s --split-input-file --verify-diagnostics

func.func @distribution(%c: tensor<i64>) {
  // expected-error @+1 {{attribute 'distribution' failed to satisfy constraint: one of uniform, normal}}
  %0 = train.random %c, %c, %c {distribution = "poisson", a = 0.0, b = 1.0, shape = array<i64: 2>, dtype = f32, op_id = 1 : i64}
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
  return
}

// -----

func.func @integers(%c: tensor<i64>) {
  // expected-error @+1 {{draws elements of type 'i32', expected a float type}}
  %0 = train.random %c, %c, %c {distribution = "uniform", a = 0.0, b = 1.0, shape = array<i64: 2>, dtype = i32, op_id = 1 : i64}
      : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xi32>
  return
}

// -----

func.func @along(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{passes gradients along 'tensor<3xf32>', expected 'tensor<2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.straight_through %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @modes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{by_mode takes 'tensor<2xf32>' in training and 'tensor<3xf32>' elsewhere; expected the same type and shape}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.by_mode %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}
