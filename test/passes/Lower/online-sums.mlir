// A row of a softmax that no registers hold is read twice: once for its maximum and its sum of exponentials, which the
// new maxima rescale, once for the outputs. A sum of other exponentials needs a pass of its own.
// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels=kernels-only=true | FileCheck %s
// REQUIRES: ptxas
// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels=arch=sm_90 | FileCheck %s --check-prefix=PTX

// Each reading: two accesses in a loop, and two behind it for what is left of the row.
// CHECK-LABEL: gpu.func @k0_2x40000
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: !llvm.ptr<1> -> vector
// CHECK: gpu.return
// PTX-LABEL: .visible .entry k0_2x40000
// PTX-COUNT-8: ld.global.v4
// PTX-NOT: ld.global
// PTX: // k0_2x40000: {{.*}} 0 spilled
func.func @softmax(%x: tensor<2x40000xf32>) -> tensor<2x40000xf32> {
  %y = sched.cluster domain [2, 40000] reduced [1] (%x)
         maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%v: f32):
      %m = sched.reduce max %v : f32
      %d = arith.subf %v, %m : f32
      %e = math.exp %d : f32
      %s = sched.reduce add %e : f32
      %q = arith.divf %e, %s : f32
      sched.yield %q : f32
  } : (tensor<2x40000xf32>) -> tensor<2x40000xf32>
  return %y : tensor<2x40000xf32>
}

// -----

// CHECK-LABEL: gpu.func @k0_2x40000
// CHECK-COUNT-12: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: !llvm.ptr<1> -> vector
// CHECK: gpu.return
func.func @squares(%x: tensor<2x40000xf32>) -> tensor<2x40000xf32> {
  %y = sched.cluster domain [2, 40000] reduced [1] (%x)
         maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%v: f32):
      %m = sched.reduce max %v : f32
      %d = arith.subf %v, %m : f32
      %t = arith.mulf %d, %d : f32
      %e = math.exp %t : f32
      %s = sched.reduce add %e : f32
      %q = arith.divf %e, %s : f32
      sched.yield %q : f32
  } : (tensor<2x40000xf32>) -> tensor<2x40000xf32>
  return %y : tensor<2x40000xf32>
}
