// RUN: not kedge-opt %s --kedge-emit-gpu-kernels=arch=sm_90 2>&1 | FileCheck %s

// CHECK: error: {{.*}}math.tanh has no expansion for GPUs on 'f64'; compute it in f32, or compile with --target cpu
// CHECK: error: {{.*}}GPU kernels could not be lowered
func.func @f(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = sched.cluster domain [8] reduced [] (%a) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
    ^bb0(%x: f64):
      %y = math.tanh %x : f64
      sched.yield %y : f64
  } : (tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}
