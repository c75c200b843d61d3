// RUN: kedge-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{operand shapes do not broadcast}}
  %0 = onnx.Add %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @element_types(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{operands have different element types}}
  %0 = onnx.Mul %a, %b : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @result(%a: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  %0 = onnx.Exp %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @condition(%c: tensor<2xf32>, %a: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{condition has element type 'f32', expected i1}}
  %0 = onnx.Where %c, %a, %a : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @ratio(%a: tensor<2xf32>) {
  // expected-error @+1 {{has ratio 1.5}}
  %0 = onnx.Dropout %a {op_id = 0 : i64, ratio = 1.5 : f32} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @counters(%a: tensor<2xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{operand #1 must be tensor<i64>, but got 'tensor<i32>'}}
  %0 = train.dropout_grad %a, %n, %n, %n {op_id = 0 : i64, ratio = 0.5 : f32}
      : (tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @rows(%a: tensor<6x2xf32>, %n: tensor<i64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{row_size 4 does not divide dimension 0}}
  %0 = train.dropout_grad %a, %n, %n, %n {op_id = 0 : i64, ratio = 0.5 : f32, row_size = 4 : i64}
      : (tensor<6x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x2xf32>
  return
}

// -----

func.func @unknown_gradient(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'function' failed to satisfy constraint: one of Abs, Reciprocal, Sqrt, Erf}}
  %0 = train.pointwise_grad %a, %a {function = "Cube"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @saved_values(%a: tensor<2xf32>) {
  // expected-error @+1 {{of 'Tanh' has 1 inputs, expected 2}}
  %0 = train.pointwise_grad %a {function = "Tanh"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_gradient() {
  // expected-error @+1 {{of 'Tanh' has 0 inputs, expected 2}}
  %0 = train.pointwise_grad  {function = "Tanh"} : () -> tensor<2xf32>
  return
}

// -----

func.func @batch_axis(%a: tensor<2xf32>, %n: tensor<i64>) {
  // expected-error @+2 {{batch_axis 1 is out of range: expected one of [-1, 0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.dropout %a, %n, %n, %n {op_id = 0 : i64, ratio = 0.5 : f32, batch_axis = 1 : i64}
      : (tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
  return
}

// -----

func.func @drawn_ratio(%a: tensor<2xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{has ratio -5.000000e-01, expected one of [0, 1]}}
  %0 = train.dropout %a, %n, %n, %n {op_id = 0 : i64, ratio = -0.5 : f32}
      : (tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
  return
}
