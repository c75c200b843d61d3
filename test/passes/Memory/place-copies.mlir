// RUN: kedge-opt %s --kedge-place-copies --kedge-check-memory --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS: 4 kedge-place-copies copies started earlier
// STATISTICS: 9 kedge-place-copies launches that they passed
// STATISTICS: 14 kedge-place-copies waits

// The value a goes to host memory while k1 runs; k2 writes where it lay, and waits. The bytes of the moment are free from
// the start: its copy begins there. The bytes of a's return are free once k2 is done with b. The moment goes back while
// nothing else happens: the function's end waits for it.
train.state parameter @w tensor<16xf32>
train.state parameter @m tensor<16xf32>
exec.arena 384 persistent 64 align 64
exec.host_arena 128 persistent 64 align 64
// CHECK-LABEL: exec.function @step
exec.function @step {
  %w = exec.buffer "w" at 0 size 64 live [-1, 8] tensor<16xf32> state @w
  // CHECK: %[[MH:.*]] = exec.buffer "m" in host at 0
  %mh = exec.buffer "m" in host at 0 size 64 live [-1, 8] tensor<16xf32> state @m
  // CHECK: %[[A:.*]] = exec.buffer "a" at 64 size 64 live[1, 3] tensor<16xf32>
  %a = exec.buffer "a" at 64 size 64 live [0, 1] tensor<16xf32>
  // CHECK: %[[AH:.*]] = exec.buffer "a" in host at 64 size 64 live[2, 7] tensor<16xf32>
  %ah = exec.buffer "a" in host at 64 size 64 live [1, 5] tensor<16xf32>
  %b = exec.buffer "b" at 128 size 64 live [2, 3] tensor<16xf32>
  // CHECK: %[[C:.*]] = exec.buffer "c" at 64 size 64 live[4, 6] tensor<16xf32>
  %c = exec.buffer "c" at 64 size 64 live [3, 6] tensor<16xf32>
  // CHECK: %[[M:.*]] = exec.buffer "m" at 192 size 64 live[0, 7] tensor<16xf32>
  %m = exec.buffer "m" at 192 size 64 live [4, 7] tensor<16xf32>
  // CHECK: %[[A2:.*]] = exec.buffer "a" at 128 size 64 live[5, 6] tensor<16xf32>
  %a2 = exec.buffer "a" at 128 size 64 live [5, 6] tensor<16xf32>
  // CHECK-NEXT: exec.copy %[[MH]] to %[[M]] stream 1 tensor
  // CHECK-NEXT: exec.launch "k0" {{.*}} stream 0 records 0 types
  exec.launch "k0" reads(%w) writes(%a) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.copy %[[A]] to %[[AH]] stream 2 waits [0] records 1 tensor
  exec.copy %a to %ah stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.launch "k1" {{.*}} stream 0 types
  exec.launch "k1" reads(%w) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch "k2" {{.*}} stream 0 waits [1] records 2 types
  exec.launch "k2" reads(%b) writes(%c) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.copy %mh to %m stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.copy %[[AH]] to %[[A2]] stream 1 waits [2] records 3 tensor
  exec.copy %ah to %a2 stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.launch "k3" {{.*}} stream 0 waits [3] records 4 types
  exec.launch "k3" reads(%a2, %c, %m) writes(%m, %w) iterations 1 grain 1 stream 0 types [tensor<16xf32>, tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>, tensor<16xf32>]
  // CHECK-NEXT: exec.copy %[[M]] to %[[MH]] stream 2 waits [4] tensor
  exec.copy %m to %mh stream 0 tensor<16xf32>
}

// Both copies back could start early, and the first waits for its own copy out: the second, which is needed later, keeps
// its turn behind it. The gradient that the host may read moves along with its launch.
// CHECK-LABEL: exec.function @turns
exec.function @turns {
  %x = exec.buffer "x" at 320 size 64 live [-1, 1] tensor<16xf32> binds [#train.binding<input "x">]
  %mh = exec.buffer "m" in host at 0 size 64 live [-1, 7] tensor<16xf32> state @m
  %xh = exec.buffer "x" in host at 64 size 64 live [0, 2] tensor<16xf32>
  %g = exec.buffer "g" at 64 size 64 live [1, 6] tensor<16xf32>
  %x2 = exec.buffer "x" at 128 size 64 live [2, 3] tensor<16xf32>
  %y = exec.buffer "y" at 256 size 64 live [3, 7] tensor<16xf32> binds [#train.binding<output "y">]
  %m = exec.buffer "m" at 192 size 64 live [5, 6] tensor<16xf32>
  // CHECK: exec.copy {{.*}} stream 2 records 0 tensor
  exec.copy %x to %xh stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.copy {{.*}} stream 1 waits [0] records 1 tensor
  // CHECK-NEXT: exec.copy {{.*}} stream 1 records 2 tensor
  // CHECK-NEXT: exec.launch "k0"
  exec.launch "k0" reads(%x) writes(%g) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.copy %xh to %x2 stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.launch "k1" {{.*}} stream 0 waits [1] types
  exec.launch "k1" reads(%x2) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch "k2" {{.*}} stream 0 types
  exec.launch "k2" reads(%g) writes(%g) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.copy %mh to %m stream 0 tensor<16xf32>
  // CHECK-NEXT: exec.launch "k3" {{.*}} stream 0 waits [2] types
  exec.launch "k3" reads(%g, %m) writes(%m) iterations 1 grain 1 stream 0 types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK: exec.gradient @w {{.*}} after 5
  exec.gradient @w %g after 4 tensor<16xf32>
}

// Collectives: the gather of a state goes up to where its place is free, and runs beside k0; the reduction stays behind
// what makes the gradient, and k3 need not wait for it. What the reduction reads stays until the end, where nothing takes
// its bytes. Collectives keep their order.
// CHECK-LABEL: exec.function @ranks
exec.function @ranks {
  %w = exec.buffer "w" at 0 size 64 live [-1, 5] tensor<16xf32> state @w
  %x = exec.buffer "x" at 64 size 64 live [-1, 0] tensor<16xf32> binds [#train.binding<input "x">]
  // CHECK: exec.buffer "whole" at 192 size 64 live[0, 3]
  %whole = exec.buffer "whole" at 192 size 64 live [1, 3] tensor<16xf32>
  // CHECK: exec.buffer "g" at 128 size 64 live[1, 4]
  %g = exec.buffer "g" at 128 size 64 live [0, 2] tensor<16xf32>
  %part = exec.buffer "part" at 256 size 64 live [2, 4] tensor<16xf32>
  %y = exec.buffer "y" at 64 size 64 live [3, 5] tensor<16xf32> binds [#train.binding<output "y">]
  // CHECK: exec.launch library "dist.all_gather" {{.*}} stream 3 records 0 types
  // CHECK-NEXT: exec.launch "k0" {{.*}} stream 0 records 1 types
  exec.launch "k0" reads(%x) writes(%g) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch library "dist.all_gather" reads(%w) writes(%whole) iterations 0 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>] {collective}
  // CHECK-NEXT: exec.launch library "dist.reduce_scatter" {{.*}} stream 3 waits [1] records 2 types
  exec.launch library "dist.reduce_scatter" reads(%g) writes(%part) iterations 0 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>] {collective}
  // CHECK-NEXT: exec.launch "k3" {{.*}} stream 0 waits [0] types
  exec.launch "k3" reads(%whole) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch "k4" {{.*}} stream 0 waits [2] types
  exec.launch "k4" reads(%part) writes(%w) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// A send and a receive are on a stream of their own, and keep their order with collectives, with which they share no bytes.
// CHECK-LABEL: exec.function @stages
exec.function @stages {
  %x = exec.buffer "x" at 64 size 64 live [-1, 0] tensor<16xf32> binds [#train.binding<input "x">]
  %g = exec.buffer "g" at 128 size 64 live [0, 2] tensor<16xf32>
  %part = exec.buffer "part" at 192 size 64 live [1, 3] tensor<16xf32>
  %sent = exec.buffer "sent" at 256 size 8 live [2, 3] tensor<i64>
  %y = exec.buffer "y" at 64 size 64 live [3, 4] tensor<16xf32> binds [#train.binding<output "y">]
  exec.launch "k0" reads(%x) writes(%g) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK: exec.launch library "dist.reduce_scatter" {{.*}} stream 3 waits [0] records 1 types
  exec.launch library "dist.reduce_scatter" reads(%g) writes(%part) iterations 0 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>] {collective}
  // CHECK-NEXT: exec.launch library "dist.send" {{.*}} stream 4 waits [1] types
  exec.launch library "dist.send" reads(%g) writes(%sent) iterations 0 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<i64>] {collective}
  // CHECK-NEXT: exec.launch "k1" {{.*}} stream 0 waits [1] types
  exec.launch "k1" reads(%part) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}
