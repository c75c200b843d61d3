// RUN: kedge-opt %s --split-input-file --kedge-insert-recompute | FileCheck %s

// Launch 0 runs again before its last reader, through a view of its own.
// CHECK-LABEL: func.func @step
// CHECK-NOT: sched.sequence
// CHECK: %[[A:.*]] = sched.library "a"(%arg0)
// CHECK: %[[B:.*]] = sched.library "b"(%[[A]])
// CHECK: %[[C:.*]] = sched.library "c"(%[[B]])
// CHECK: %[[A2:.*]] = sched.library "a"(%arg0) {} {clone = 1 : i64, recomputed = "frees 64 B from launch 1 to 3"}
// CHECK: %[[V2:.*]] = sched.view %[[A2]]
// CHECK: %[[D:.*]] = sched.library "d"(%[[C]], %[[V2]])
// CHECK: return %[[D]]
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 1, 2, 0, 3>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} : (tensor<16xf32>) -> tensor<16xf32>
  %v = sched.view %a : tensor<16xf32> to tensor<4x4xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  %c = sched.library "c"(%b) {} : (tensor<16xf32>) -> tensor<16xf32>
  %d = sched.library "d"(%c, %v) {} : (tensor<16xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// One result of a cluster with several becomes a cluster of its own, which reads the other: node 3 is result 0 alone.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @step
// CHECK: %[[BOTH:.*]]:2 = sched.cluster
// CHECK: sched.library "late"
// CHECK: %[[ALONE:.*]] = sched.cluster domain [16] reduced [](%[[BOTH]]#1)
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[S]]
// CHECK-NEXT: sched.yield %[[N]]
// CHECK: {clone = 1 : i64, recomputed = "frees 64 B from launch 1 to 2"}
// CHECK: sched.library "end"(%{{.*}}, %[[ALONE]])
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 1, 3, 2>, train.kind = #train.kind<step>} {
  %r:2 = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id, #id] {
  ^bb0(%a: f32):
    %double = arith.addf %a, %a : f32
    %minus = arith.negf %double : f32
    sched.yield %minus, %double : f32, f32
  } : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %late = sched.library "late"(%r#0, %r#1) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %end = sched.library "end"(%late, %r#0) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %end : tensor<16xf32>
}

// -----

// Value 1 (of launch 0) goes to host memory behind launch 0 and comes back as node 4 says: nodes are four launches,
// then the fetches.
// CHECK-LABEL: func.func @step
// CHECK-NOT: sched.offloadable
// CHECK: %[[A:.*]] = sched.library "a"(%arg0)
// CHECK-NEXT: %[[H:.*]] = sched.offload %[[A]] {offloaded = "frees 64 B from launch 1 to 3"}
// CHECK-NEXT: sched.library "b"(%[[A]])
// CHECK: %[[C:.*]] = sched.library "c"
// CHECK: %[[A2:.*]] = sched.fetch %[[H]] {offloaded = "frees 64 B from launch 1 to 3"}
// CHECK: sched.library "d"(%[[C]], %[[A2]])
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.offloadable = array<i64: 1>, sched.sequence = array<i64: 0, 1, 2, 4, 3>, train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} : (tensor<16xf32>) -> tensor<16xf32>
  %b = sched.library "b"(%a) {} : (tensor<16xf32>) -> tensor<16xf32>
  %c = sched.library "c"(%b) {} : (tensor<16xf32>) -> tensor<16xf32>
  %d = sched.library "d"(%c, %a) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// What it reads was computed again as well: it reads the later one, so that the first one's bytes are free.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @step
// CHECK: %[[BOTH:.*]]:2 = sched.cluster
// CHECK: sched.library "late"
// CHECK: %[[DOUBLE:.*]] = sched.cluster domain [16] reduced [](%arg0)
// CHECK: sched.cluster domain [16] reduced [](%[[DOUBLE]])
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">})
    attributes {sched.sequence = array<i64: 0, 1, 4, 3, 2>, train.kind = #train.kind<step>} {
  %r:2 = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id, #id] {
  ^bb0(%a: f32):
    %double = arith.addf %a, %a : f32
    %minus = arith.negf %double : f32
    sched.yield %minus, %double : f32, f32
  } : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %late = sched.library "late"(%r#0, %r#1) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %end = sched.library "end"(%late, %r#0) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %end : tensor<16xf32>
}
