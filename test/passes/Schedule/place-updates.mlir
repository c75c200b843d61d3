// RUN: kedge-opt %s --kedge-place-updates | FileCheck %s

#id = affine_map<(d0) -> (d0)>
// The update of w moves up to behind the last reader of w, before what does not concern it.
// CHECK-LABEL: func.func @step
// CHECK: sched.library "gradient"
// CHECK: sched.library "reader"
// CHECK: sched.cluster
// CHECK: sched.library "other"
func.func @step(%x: tensor<4xf32>, %w: tensor<4xf32> {train.state = @w})
    -> (tensor<4xf32> {train.state = @w}, tensor<4xf32>) {
  %g = sched.library "gradient"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  %r = sched.library "reader"(%w) {} : (tensor<4xf32>) -> tensor<4xf32>
  %o = sched.library "other"(%r) {} : (tensor<4xf32>) -> tensor<4xf32>
  %p = sched.library "keeps"(%o, %r) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new = sched.cluster domain [4] reduced [] (%w, %g) maps [#id, #id] -> [#id] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    sched.yield %c : f32
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %new, %p : tensor<4xf32>, tensor<4xf32>
}
