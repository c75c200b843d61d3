// RUN: kedge-opt %s --kedge-gather-again --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS: 1 kedge-gather-again gathers

// Forward's readers keep the first gather; backward, far behind, gathers again what it reads, under the same view. A reader
// near the last one reads on. What was made in the function is no state, and stays.
// CHECK-LABEL: func.func @f
// CHECK: %[[W:.*]]:2 = sched.library "dist.all_gather"(%{{.*}}, %{{.*}})
// CHECK: "a"(%{{.*}}, %[[W]]#0, %[[W]]#1)
// CHECK: "b"
// CHECK: %[[AGAIN:.*]] = sched.library "dist.all_gather"(%{{[a-z0-9]+}}) {ranks = 2 : i64} {clone = 1 : i64, collective} : (tensor<2xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[V:.*]] = sched.view %[[AGAIN]] : tensor<3xf32> to tensor<3x1xf32>
// CHECK-NEXT: %[[E:.*]] = sched.library "c"(%{{.*}}, %[[V]])
// CHECK-NEXT: sched.library "d"(%[[E]], %[[AGAIN]])
func.func @f(%p: tensor<2xf32>, %q: tensor<1xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %w:2 = sched.library "dist.all_gather"(%p, %q) {ranks = 2 : i64} {collective} : (tensor<2xf32>, tensor<1xf32>) -> (tensor<3xf32>, tensor<2xf32>)
  %v = sched.view %w#0 : tensor<3xf32> to tensor<3x1xf32>
  %0 = sched.library "a"(%x, %w#0, %w#1) {} : (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  %1 = sched.library "b"(%0) {} : (tensor<3xf32>) -> tensor<3xf32>
  %2 = sched.library "b"(%1) {} : (tensor<3xf32>) -> tensor<3xf32>
  %3 = sched.library "b"(%2) {} : (tensor<3xf32>) -> tensor<3xf32>
  %4 = sched.library "b"(%3) {} : (tensor<3xf32>) -> tensor<3xf32>
  %5 = sched.library "c"(%4, %v) {} : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<3xf32>
  %6 = sched.library "d"(%5, %w#0) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %6 : tensor<3xf32>
}
