// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'sched.recompute' should be a #sched.recompute, on the module, found unit}}
module attributes {sched.recompute} {}

// -----

// expected-error @+1 {{'sched.host' should be a unit, on a train.state, found 1}}
train.state moment1 @m tensor<4xf32> {sched.host = 1 : i64}

// -----

// expected-error @+1 {{'sched.disk' should be a directory, on a train.state with 'sched.host', found "/a"}}
train.state moment1 @m tensor<4xf32> {sched.disk = "/a"}

// -----

// expected-error @+1 {{'sched.sequence' should be a list of launches, on a function, found [0, 1]}}
func.func @step() attributes {sched.sequence = [0, 1]} {
  return
}

// -----

func.func @bytes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'sched.workspace' should be a number of bytes, on a launch, found -8 : i64}}
  %y = sched.library "a"(%x) {} {sched.workspace = -8 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @flat(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'sched.flat' should be a function and its elements, on a cluster, found {}}}
  %y = sched.library "a"(%x) {} {sched.flat = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{has 'sched.secuence', which is no note of the dialect sched}}
func.func @spelled() attributes {sched.secuence = array<i64: 0>} {
  return
}

// -----

// expected-error @+1 {{'exec.offset' should be a number of bytes, on a train.state, found "64"}}
train.state moment1 @m tensor<4xf32> {exec.offset = "64"}

// -----

// expected-error @+1 {{has 'exec.order', which is no note of the dialect exec}}
train.state moment1 @m tensor<4xf32> {exec.order = 1 : i64}

// -----

// expected-error @+1 {{'kedge.target' should be the name of a target: cpu, cuda}}
module attributes {kedge.target = 1 : i64} {}

// -----

// expected-error @+1 {{'kedge.saved' should be a dictionary, as --save-ir writes it}}
module attributes {kedge.saved = "05"} {}

// -----

func.func @rows(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kedge.rows' should be a list of numbers}}
  %y = sched.library "a"(%x) {} {kedge.rows = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
