// RUN: kedge-opt %s --split-input-file --kedge-group-launches --kedge-check-memory | FileCheck %s
// RUN: kedge-opt %s --split-input-file --kedge-group-launches --kedge-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS
// STATISTICS: 3 kedge-group-launches groups
// STATISTICS: 6 kedge-group-launches launches grouped

// Two updates with a launch of something else between: one launch where the second stood. The first gradient lives on
// until then, later launches have new numbers, and no offset changes.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: @{{flat0|k_u}}
// CHECK: gpu.func @k_other
// CHECK-NOT: @{{flat0|k_u}}
// Sets of 8 and 5000 elements: one block, then two; weights and gradients at their places after the first weight.
// CHECK: llvm.mlir.global internal constant @group0_2_tensors_table{{[0-9]}}(dense<[0, 1]> : tensor<2xi32>)
// CHECK: llvm.mlir.global internal constant @group0_2_tensors_table{{[0-9]}}(dense<[8, 0, 20736, 5000, 256, 20992]> : tensor<6xi64>)
// CHECK: gpu.func @group0_2_tensors(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}) kernel
// CHECK-NOT: @{{flat0|k_u}}
// CHECK-LABEL: exec.function @step
// CHECK: exec.buffer "g0" at 20736 size 32 live[0, 3]
// CHECK: exec.buffer "g1" at 20992 size 20000 live[1, 3]
// CHECK: exec.buffer "t" at 41216 size 32 live[2, 4]
// CHECK: exec.buffer "loss" at 41472 size 4 live[4, 5]
// CHECK: exec.launch "make0"
// CHECK: exec.launch "make1"
// CHECK-NEXT: exec.launch "other"
// CHECK-NEXT: exec.launch "group0_2_tensors" reads(%[[P0:.*]], %[[G0:.*]], %[[P1:.*]], %[[G1:.*]]) writes(%[[P0]], %[[P1]])
// CHECK-SAME: kernels = [{block = array<i64: 256, 1, 1>, grid = array<i64: 3, 1, 1>, name = "group0_2_tensors", operands = [0]}]
// CHECK-NEXT: exec.launch "last"
// CHECK-NEXT: exec.gradient @p0 %[[G0]] after 0
// CHECK-NEXT: exec.gradient @p1 %[[G1]] after 1
gpu.module @kernels {
  gpu.func @flat0(%p: !llvm.ptr<1>, %g: !llvm.ptr<1>, %n: !llvm.ptr<1>, %elements: i32, %first: i32) {
    %v = llvm.load %g : !llvm.ptr<1> -> f32
    llvm.store %v, %n : f32, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @k_u(%p: !llvm.ptr<1>, %g: !llvm.ptr<1>, %n: !llvm.ptr<1>) kernel {
    gpu.return
  }
  gpu.func @k_other(%t: !llvm.ptr<1>) kernel {
    gpu.return
  }
}
train.state parameter @p0 tensor<8xf32>
train.state parameter @p1 tensor<5000xf32>
exec.arena 65536 persistent 20736 align 256
exec.function @step {
  %p0 = exec.buffer "p0" at 0 size 32 live[-1, 6] tensor<8xf32> state @p0
  %p1 = exec.buffer "p1" at 256 size 20000 live[-1, 6] tensor<5000xf32> state @p1
  %g0 = exec.buffer "g0" at 20736 size 32 live[0, 1] tensor<8xf32>
  %g1 = exec.buffer "g1" at 20992 size 20000 live[2, 4] tensor<5000xf32>
  %t = exec.buffer "t" at 41216 size 32 live[3, 5] tensor<8xf32>
  %loss = exec.buffer "loss" at 41472 size 4 live[5, 6] tensor<f32> binds [#train.binding<output "loss">]
  exec.launch "make0" reads() writes(%g0) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "u0" reads(%p0, %g0) writes(%p0) iterations 0 grain 1 stream 0 types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8}, kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 1, 1, 1>, name = "k_u", operands = [0, 1, 2]}]}
  exec.launch "make1" reads() writes(%g1) iterations 0 grain 1 stream 0 types [] -> [tensor<5000xf32>]
  exec.launch "other" reads() writes(%t) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "u1" reads(%p1, %g1) writes(%p1) iterations 0 grain 1 stream 0 types [tensor<5000xf32>, tensor<5000xf32>] -> [tensor<5000xf32>] {flat = {function = "flat0", elements = 5000}, kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 1, 1, 1>, name = "k_u", operands = [0, 1, 2]}]}
  exec.launch "last" reads(%t) writes(%loss) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<f32>]
  exec.gradient @p0 %g0 after 0 tensor<8xf32>
  exec.gradient @p1 %g1 after 2 tensor<5000xf32>
}

// -----

// What stands between decides: the second gradient takes the first one's bytes, so the first update stays; the second
// parameter is read between its update and the third one's, so the second stays too.
// CHECK-LABEL: exec.function @conflicts
// CHECK: exec.buffer "g0" at 1024 size 32 live[0, 1]
// CHECK: exec.launch "u0"
// CHECK: exec.launch "u1"
// CHECK: exec.launch "group0_2_tensors"
gpu.module @kernels {
  gpu.func @flat0(%p: !llvm.ptr<1>, %g: !llvm.ptr<1>, %n: !llvm.ptr<1>, %elements: i32, %first: i32) {
    gpu.return
  }
}
train.state parameter @p0 tensor<8xf32>
train.state parameter @p1 tensor<8xf32>
train.state parameter @p2 tensor<8xf32>
train.state parameter @p3 tensor<8xf32>
exec.arena 4096 persistent 1024 align 256
exec.function @conflicts {
  %p0 = exec.buffer "p0" at 0 size 32 live[-1, 8] tensor<8xf32> state @p0
  %p1 = exec.buffer "p1" at 256 size 32 live[-1, 8] tensor<8xf32> state @p1
  %p2 = exec.buffer "p2" at 512 size 32 live[-1, 8] tensor<8xf32> state @p2
  %p3 = exec.buffer "p3" at 768 size 32 live[-1, 8] tensor<8xf32> state @p3
  %g0 = exec.buffer "g0" at 1024 size 32 live[0, 1] tensor<8xf32>
  %g1 = exec.buffer "g1" at 1024 size 32 live[2, 3] tensor<8xf32>
  %t = exec.buffer "t" at 1280 size 32 live[4, 7] tensor<8xf32>
  exec.launch "make0" reads() writes(%g0) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "u0" reads(%p0, %g0) writes(%p0) iterations 0 grain 1 stream 0 types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8}}
  exec.launch "make1" reads() writes(%g1) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "u1" reads(%p1, %g1) writes(%p1) iterations 0 grain 1 stream 0 types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8}}
  exec.launch "reads1" reads(%p1) writes(%t) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<8xf32>]
  exec.launch "u2" reads(%p2, %t) writes(%p2) iterations 0 grain 1 stream 0 types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8}}
  exec.launch "reads0" reads(%p0) writes() iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> []
  exec.launch "u3" reads(%p3, %t) writes(%p3) iterations 0 grain 1 stream 0 types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8}}
}

// -----

// Launches of one kernel with few blocks: a row of blocks each, whose tensors are in a table. The third has a conflict on
// its way, the fourth more blocks than leave room, so they stay. The largest live set is another one: of it plans tell.
// CHECK-LABEL: gpu.module @kernels
// CHECK: llvm.mlir.global internal constant @copies0_2_of_k_sum_table{{[0-9]}}(dense<[0, 1024, 512, 1280]> : tensor<4xi64>)
// CHECK: gpu.func @copies0_2_of_k_sum(%[[ALL:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>}
// CHECK: gpu.block_id y
// CHECK: llvm.getelementptr %[[ALL]]
// CHECK: gpu.block_id x
// CHECK-LABEL: exec.function @sums
// CHECK: exec.launch "copies0_2_of_k_sum" reads(%[[A:.*]], %[[B:.*]]) writes(%[[SA:.*]], %[[SB:.*]]) iterations 0
// CHECK-SAME: kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 4, 2, 1>, name = "copies0_2_of_k_sum", operands = [0]}]
// CHECK-NEXT: exec.launch "other"
// CHECK: exec.launch "k_sum"
// CHECK: exec.launch "k_sum"
gpu.module @kernels {
  gpu.func @k_sum(%a: !llvm.ptr<1>, %s: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = gpu.block_id x
    %at = arith.index_cast %x : index to i32
    %from = llvm.getelementptr %a[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %v, %s : f32, !llvm.ptr<1>
    gpu.return
  }
}
exec.arena 4096 persistent 0 align 256
exec.function @sums {
  %a = exec.buffer "a" at 0 size 32 live[0, 2] tensor<8xf32>
  %most = exec.buffer "most" at 2048 size 2048 live[0, 0] tensor<512xf32>
  %b = exec.buffer "b" at 512 size 32 live[1, 3] tensor<8xf32>
  %sa = exec.buffer "sa" at 1024 size 4 live[2, 7] tensor<f32> binds [#train.binding<output "sa">]
  %sb = exec.buffer "sb" at 1280 size 4 live[3, 7] tensor<f32> binds [#train.binding<output "sb">]
  %c = exec.buffer "c" at 0 size 32 live[4, 6] tensor<8xf32>
  %sc = exec.buffer "sc" at 1536 size 4 live[5, 7] tensor<f32> binds [#train.binding<output "sc">]
  %sd = exec.buffer "sd" at 1792 size 4 live[6, 7] tensor<f32> binds [#train.binding<output "sd">]
  exec.launch "make" reads() writes(%a, %most) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>, tensor<512xf32>]
  exec.launch "make" reads() writes(%b) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "k_sum" reads(%a) writes(%sa) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<f32>] {kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 4, 1, 1>, name = "k_sum", operands = [0, 1]}]}
  exec.launch "k_sum" reads(%b) writes(%sb) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<f32>] {kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 4, 1, 1>, name = "k_sum", operands = [0, 1]}]}
  exec.launch "other" reads() writes(%c) iterations 0 grain 1 stream 0 types [] -> [tensor<8xf32>]
  exec.launch "k_sum" reads(%c) writes(%sc) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<f32>] {kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 4, 1, 1>, name = "k_sum", operands = [0, 1]}]}
  exec.launch "k_sum" reads(%c) writes(%sd) iterations 0 grain 1 stream 0 types [tensor<8xf32>] -> [tensor<f32>] {kernels = [{block = array<i64: 32, 1, 1>, grid = array<i64: 400, 1, 1>, name = "k_sum", operands = [0, 1]}]}
}
