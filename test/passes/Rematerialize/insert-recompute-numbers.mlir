// RUN: kedge-opt %s --kedge-insert-recompute | FileCheck %s

// A clone that was there before, such as a state that is gathered again, keeps its number; new ones come behind it.
// CHECK: "a"({{.*}} {clone = 3 : i64}
// CHECK: "b"
// CHECK: "a"({{.*}} {clone = 4 : i64, recomputed
func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 1, 0, 2>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} {clone = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = sched.library "b"(%a) {} : (tensor<4xf32>) -> tensor<4xf32>
  %c = sched.library "c"(%a, %b) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
