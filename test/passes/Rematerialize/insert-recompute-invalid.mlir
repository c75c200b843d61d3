// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-insert-recompute

// expected-error @+1 {{'sched.sequence' names launch 7, expected 0 to 1}}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 7>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} : (tensor<16xf32>) -> tensor<16xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}

// -----

// expected-error @+1 {{'sched.sequence' is no execution of this function}}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 1, 0>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} : (tensor<16xf32>) -> tensor<16xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}

// -----

// The parameter is read again after its update.
#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<16xf32>
// expected-error @+1 {{reads state after its update}}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<16xf32> {train.binding = #train.binding<state @w>}, tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 1, 0, 2>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x, %w) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %new = sched.cluster domain [16] reduced [] (%a, %w) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %c = arith.addf %s, %t : f32
    sched.yield %c : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  return %new, %b : tensor<16xf32>, tensor<16xf32>
}

// -----

// expected-error @+1 {{'sched.offloadable' names value 0, which is no transient result of a launch}}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.offloadable = array<i64: 0>, sched.sequence = array<i64: 0, 1>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} : (tensor<16xf32>) -> tensor<16xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}
