// RUN: kedge-opt %s --split-input-file --kedge-note-workspaces | FileCheck %s --implicit-check-not=gpu.module
// RUN: kedge-opt %s --split-input-file --kedge-note-workspaces --kedge-emit-gpu-kernels --verify-diagnostics | FileCheck %s --check-prefix=EMITTED

// A long fold of one row is shared by blocks, whose partial sums need a place; an elementwise launch needs none. The
// emitter needs what was noted.
// CHECK: module attributes {kedge.target = "cuda"}
// CHECK: sched.cluster domain [1048576]
// CHECK: sched.workspace = [[BYTES:[1-9][0-9]*]] : i64
// CHECK: sched.cluster domain [64]
// CHECK: sched.workspace = 0 : i64
// EMITTED: {workspace = 0 : i64}
// EMITTED: sched.workspace = {{[1-9]}}
// EMITTED: gpu.func @k{{.*}}_join
func.func @step(%x: tensor<1048576xf32>, %y: tensor<64xf32>) -> (tensor<f32>, tensor<64xf32>) {
  %0 = sched.cluster domain [1048576] reduced [0] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> ()>] {
    ^bb0(%v: f32):
      %s = sched.reduce add %v : f32
      sched.yield %s : f32
  } : (tensor<1048576xf32>) -> tensor<f32>
  %1 = sched.cluster domain [64] reduced [] (%y) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
    ^bb0(%v: f32):
      %t = math.tanh %v : f32
      sched.yield %t : f32
  } : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<f32>, tensor<64xf32>
}

// -----

// Products are the runtime's, with a workspace that is planned for them.
// CHECK: sched.library "onnx.MatMul"
// CHECK-SAME: sched.workspace = {{[0-9]+}} : i64
func.func @product(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %0 = sched.library "onnx.MatMul" (%a, %b) {} : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}
