// RUN: kedge-opt %s --kedge-plan-memory --kedge-check-memory | FileCheck %s

// For CUDA every state and every value begins at a multiple of 256 bytes, however small it and what is before it are.
// CHECK: train.state {{ *}}parameter @a tensor<3xf32> {{.*}}exec.offset = 0
// CHECK: train.state {{ *}}parameter @b tensor<70xf32> {{.*}}exec.offset = 256
// CHECK: train.state {{ *}}parameter @c tensor<1xf32> {{.*}}exec.offset = 768
// CHECK: exec.arena 1792 persistent 1024 align 256
// CHECK: exec.buffer "x" at 1024 size 20
// CHECK: exec.buffer "y" at 1536 size 20
// CHECK: exec.buffer "" at 1280 size 20
module attributes {kedge.target = "cuda"} {
  train.state parameter @a tensor<3xf32>
  train.state parameter @b tensor<70xf32>
  train.state parameter @c tensor<1xf32>
  func.func @step(%x: tensor<5xf32> {train.binding = #train.binding<input "x">}) -> (tensor<5xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    %0 = sched.library "first"(%x) {} : (tensor<5xf32>) -> tensor<5xf32>
    %1 = sched.library "second"(%0, %x) {} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %1 : tensor<5xf32>
  }
}
