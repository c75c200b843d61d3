// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels=kernels-only=true | FileCheck %s
// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels="arch=sm_90 opt-level=2" | FileCheck %s --check-prefix=PTX --implicit-check-not=.extern

// Two equal clusters share a kernel: a thread takes four neighbours.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @k0_act_128x96(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64}) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, sched.grid = "12x1x1"
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: math.tanh %{{.*}} : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-NOT: gpu.func
// PTX-LABEL: .visible .entry k0_act_128x96(
// PTX: ld.global.v4.b32
// PTX: fma.rn.f32
// PTX: st.global.v4.b32
func.func @equal(%a: tensor<128x96xf32>) -> tensor<128x96xf32> {
  %0 = sched.cluster domain [128, 96] reduced [] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = math.tanh %x : f32
      sched.yield %y : f32
  } {kedge.place = #kedge.place<forward "model.h.0.act", "Tanh">} : (tensor<128x96xf32>) -> tensor<128x96xf32>
  %1 = sched.cluster domain [128, 96] reduced [] (%0)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = math.tanh %x : f32
      sched.yield %y : f32
  } {kedge.place = #kedge.place<forward "model.h.1.act", "Tanh">} : (tensor<128x96xf32>) -> tensor<128x96xf32>
  return %1 : tensor<128x96xf32>
}

// -----

// A row lies in the registers of a warp: it is loaded once for two passes and the result, with six 16-byte loads.
// CHECK-LABEL: gpu.func @k0_8192x768
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, sched.grid = "1024x1x1"
// CHECK-COUNT-6: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: llvm.load
// CHECK-COUNT-6: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK: gpu.return
// PTX-LABEL: .visible .entry k0_8192x768(
// PTX-COUNT-6: ld.global.v4.b32
// PTX: shfl.sync.bfly.b32
// PTX-NOT: ld.global
// PTX-COUNT-6: st.global.v4.b32
func.func @rows(%a: tensor<8192x768xf32>) -> tensor<8192x768xf32> {
  %0 = sched.cluster domain [8192, 768] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %m = sched.reduce max %x : f32
      %d = arith.subf %x, %m : f32
      %e = math.exp %d : f32
      %s = sched.reduce add %e : f32
      %y = arith.divf %e, %s : f32
      sched.yield %y : f32
  } : (tensor<8192x768xf32>) -> tensor<8192x768xf32>
  return %0 : tensor<8192x768xf32>
}

// -----

// A row too long for registers: a block reads it once, for the maximum and the sum of exponentials beside it.
// CHECK-LABEL: gpu.func @k0_1024x50257
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, sched.grid = "1024x1x1"
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-NOT: scf.for
// CHECK: gpu.barrier
// CHECK-NOT: scf.for
// CHECK: gpu.return
// PTX-LABEL: .visible .entry k0_1024x50257(
// PTX: bar.sync
func.func @vocabulary(%a: tensor<1024x50257xf32>) -> tensor<1024xf32> {
  %0 = sched.cluster domain [1024, 50257] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
    ^bb0(%x: f32):
      %m = sched.reduce max %x : f32
      %d = arith.subf %x, %m : f32
      %e = math.exp %d : f32
      %s = sched.reduce add %e : f32
      %l = math.log %s : f32
      %y = arith.addf %l, %m : f32
      sched.yield %y : f32
  } : (tensor<1024x50257xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// Columns: partial sums of blocks in the workspace, then a kernel that joins them in a fixed order.
// CHECK-LABEL: gpu.func @k0_8192x768
// CHECK-SAME: known_block_size = array<i32: 32, 8, 1>
// CHECK: gpu.block_id  y
// CHECK: gpu.barrier
// CHECK: gpu.func @k1_768x{{[0-9]+}}_join
// CHECK: gpu.return
// PTX-LABEL: .visible .entry k0_8192x768(
// PTX: ld.global.v4.b32
// PTX-LABEL: .visible .entry k1_768x
// PTX: ld.global.v4.b32
func.func @columns(%a: tensor<8192x768xf32>) -> tensor<768xf32> {
  %0 = sched.cluster domain [8192, 768] reduced [0] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>] {
    ^bb0(%x: f32):
      %y = sched.reduce add %x : f32
      sched.yield %y : f32
  } : (tensor<8192x768xf32>) -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// -----

// A long fold whose result is worked on: the fold is split over blocks, what follows has a kernel of its own.
// CHECK-LABEL: gpu.func @k0_1048576_stage0
// CHECK: gpu.func @k1_1x{{[0-9]+}}_stage0_join
// CHECK: gpu.func @k2_1048576_stage1
// CHECK: math.sqrt
// PTX-LABEL: .visible .entry k0_1048576_stage0(
func.func @norm(%a: tensor<1048576xf32>) -> tensor<f32> {
  %0 = sched.cluster domain [1048576] reduced [0] (%a)
       maps [affine_map<(r) -> (r)>] -> [affine_map<(r) -> ()>] {
    ^bb0(%x: f32):
      %q = arith.mulf %x, %x : f32
      %s = sched.reduce add %q : f32
      %y = math.sqrt %s : f32
      sched.yield %y : f32
  } : (tensor<1048576xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Positions of large tensors need 64 bits.
// CHECK-LABEL: gpu.func @k0_65536x65536
// CHECK: arith.index_cast %{{.*}} : index to i64
// CHECK-NOT: index to i32
// CHECK: gpu.return
// PTX-LABEL: .visible .entry k0_65536x65536(
// PTX: ld.global.v4.b32
func.func @large(%a: tensor<65536x65536xf32>) -> tensor<65536x65536xf32> {
  %0 = sched.cluster domain [65536, 65536] reduced [] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = arith.negf %x : f32
      sched.yield %y : f32
  } : (tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  return %0 : tensor<65536x65536xf32>
}

// -----

// An input that lies across the output goes through a tile in shared memory, 33 elements a row.
// CHECK-LABEL: llvm.mlir.global internal @k0_512x1024_shared0() {{.*}} !llvm.array<4224 x i8>
// CHECK: gpu.func @k0_512x1024
// CHECK-SAME: known_block_size = array<i32: 32, 8, 1>, sched.grid = "512x1x1"
// CHECK-COUNT-4: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// PTX-LABEL: .visible .entry k0_512x1024(
// PTX: st.shared
// PTX: bar.sync
func.func @transpose(%a: tensor<1024x512xf32>) -> tensor<512x1024xf32> {
  %0 = sched.cluster domain [512, 1024] reduced [] (%a)
       maps [affine_map<(r, c) -> (c, r)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = arith.negf %x : f32
      sched.yield %y : f32
  } : (tensor<1024x512xf32>) -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}
