// RUN: not kedge-opt %s --split-input-file --kedge-emit-gpu-kernels=arch=sm_90 2>&1 | FileCheck %s
// RUN: not kedge-opt %s --split-input-file --kedge-emit-gpu-kernels=arch=hopper 2>&1 | FileCheck %s --check-prefix=ARCH

// CHECK: error: {{.*}}math.tanh has no expansion for GPUs on 'f64'; compute it in f32, or compile with --target cpu
// CHECK: error: {{.*}}GPU kernels could not be lowered
// ARCH: error: architecture 'hopper': expected one like sm_80, sm_89, sm_90 or sm_100
func.func @f(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = sched.cluster domain [8] reduced [] (%a) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
    ^bb0(%x: f64):
      %y = math.tanh %x : f64
      sched.yield %y : f64
  } : (tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

// CHECK: emit-gpu-kernels-invalid.mlir:[[#@LINE+2]]:8: error: 'sched.library' op has no kernel for CUDA: onnx.Multinomial runs with --target cpu only; compile for it, or replace the operator
func.func @cpu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.library "onnx.Multinomial"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK: emit-gpu-kernels-invalid.mlir:[[#@LINE+2]]:8: error: 'sched.library' op has no kernel for CUDA: onnx.Gather(f32[4], f32[4]) -> (f32[4]): indices are f32, expected i32 or i64
func.func @indices(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.library "onnx.Gather"(%x, %x) {axis = 0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#block = affine_map<(r, c) -> (r floordiv 2, c)>
func.func @sum_of_long_rows(%x: tensor<4x100000xf32>) -> (tensor<4x100000xf32>, tensor<2x100000xf32>) {
  // expected-error @+1 {{adds up rows that a block of threads cannot hold in registers}}
  %y:2 = sched.cluster domain [4, 100000] reduced [1] (%x) maps [#same] -> [#same, #block] {
  ^bb0(%a: f32):
    %f = sched.reduce add %a : f32
    %s = sched.sum %a : f32
    sched.yield %f, %s : f32, f32
  } : (tensor<4x100000xf32>) -> (tensor<4x100000xf32>, tensor<2x100000xf32>)
  return %y#0, %y#1 : tensor<4x100000xf32>, tensor<2x100000xf32>
}
