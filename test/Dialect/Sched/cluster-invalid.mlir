// RUN: kedge-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics
// Maps, folds, the body's scalars and what it yields fit the tensors and the domain.

#id = affine_map<(i) -> (i)>
func.func @map_count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 2 input maps for 1 tensors}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id, #id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @output_maps(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 0 output maps for 1 tensors}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#pair = affine_map<(i, j) -> (i)>
func.func @domain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has an input map affine_map<(d0, d1) -> (d0)> over another domain}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#pair] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#symbol = affine_map<(i)[s] -> (i + s)>
func.func @symbols(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has an output map affine_map<(d0)[s0] -> (d0 + s0)> over another domain}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#symbol] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has an input map affine_map<(d0) -> ()> for 'tensor<4xf32>'}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#none] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @reduced(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{reduces dim 1 of a domain of rank 1}}
  %y = sched.cluster domain [4] reduced [1] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @scalars(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{body takes 2 scalars for 1 inputs}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32, %b: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @scalar_type(%x: tensor<4xbf16>) -> tensor<4xf32> {
  // expected-error @+1 {{body argument 'f32' for input 'tensor<4xbf16>'}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xbf16>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @yields_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{body must yield one scalar an output}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @yields(%x: tensor<4xf32>) -> tensor<4xi64> {
  // expected-error @+1 {{body yields 'f32' for output 'tensor<4xi64>'}}
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @folds(%x: tensor<4xf32>) -> tensor<4xf64> {
  %y = sched.cluster domain [4] reduced [0] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    // expected-error @+1 {{requires the same type for all operands and results}}
    %s = "sched.reduce"(%a) {kind = 0 : i32} : (f32) -> f64
    sched.yield %s : f64
  } : (tensor<4xf32>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @index(%x: tensor<4xf32>) -> tensor<4xi64> {
  %y = sched.cluster domain [4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    // expected-error @+1 {{failed to verify that dim is one of the domain}}
    %i = sched.index 1
    sched.yield %i : i64
  } : (tensor<4xf32>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @tensors(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.cluster domain [4] reduced [0] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %t = "other.splat"(%a) : (f32) -> tensor<4xf32>
    // expected-error @+1 {{operand #0 must be scalar of a cluster's body: a float or a signless integer, but got 'tensor<4xf32>'}}
    %s = sched.reduce add %t : tensor<4xf32>
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @outside(%a: f32) -> f32 {
  // expected-error @+1 {{failed to verify that it is in the body of a sched.cluster}}
  %s = sched.reduce add %a : f32
  return %s : f32
}

// -----

func.func @index_outside() -> i64 {
  // expected-error @+1 {{failed to verify that it is in the body of a sched.cluster}}
  %i = sched.index 0
  return %i : i64
}

// -----

func.func @draws_outside(%n: i64) -> f32 {
  // expected-error @+1 {{failed to verify that it is in the body of a sched.cluster}}
  %u = sched.random 5(%n, %n, %n, %n)
  return %u : f32
}

// -----

func.func @view(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{failed to verify that both shapes take the same bytes}}
  %y = sched.view %x : tensor<4xf32> to tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @negative(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has the domain [-4]: a size is not negative}}
  %y = sched.cluster domain [-4] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has a domain that no loop walks: it has more than 2^44 elements}}
  %y = sched.cluster domain [9223372036854775807] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (r floordiv 2, c)>
func.func @sum_is_read(%x: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %y = sched.cluster domain [4, 2] reduced [1] (%x) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    // expected-error @+1 {{is read in the body: expected only sched.yield}}
    %s = sched.sum %a : f32
    // expected-note @+1 {{read here}}
    %t = arith.addf %s, %a : f32
    sched.yield %t : f32
  } : (tensor<4x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r floordiv 2)>
func.func @sum_along_the_fold(%x: tensor<4x2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{yields a sched.sum as output 0, whose map leaves out the reduced dim 1}}
  %y = sched.cluster domain [4, 2] reduced [1] (%x) maps [#same] -> [#row] {
  ^bb0(%a: f32):
    %s = sched.sum %a : f32
    sched.yield %s : f32
  } : (tensor<4x2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
