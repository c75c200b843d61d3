// RUN: kedge-opt %s --split-input-file --kedge-plan-memory --kedge-check-memory | FileCheck %s

// For CUDA every state and every value begins at a multiple of 256 bytes, however small it and what is before it are.
// CHECK-LABEL: module attributes {kedge.target = "cuda"}
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

// -----

// A sum of products is one tensor: each adds to it where it lies. A C that is a factor as well is not overwritten.
// CHECK-LABEL: module attributes {kedge.target = "cuda"}
// CHECK: exec.launch library "onnx.MatMul" reads(%0, %0) writes([[SUM:%[0-9]+]])
// CHECK: exec.launch library "onnx.Gemm" reads(%0, %0, [[SUM]]) writes([[SUM]])
// CHECK: exec.launch library "onnx.Gemm" reads(%0, %0, [[SUM]]) writes([[SUM]])
// CHECK: exec.launch library "onnx.Gemm" reads([[SUM]], [[SUM]], [[SUM]]) writes([[Y:%[0-9]+]])
// Nor is one of one row: that is a bias.
// CHECK: exec.launch library "onnx.Gemm" reads(%{{.*}}, [[Y]], [[C:%[0-9]+]]) writes([[Z:%[0-9]+]])
// CHECK-NOT: writes([[C]])
module attributes {kedge.target = "cuda"} {
  func.func @step(%x: tensor<16x8xf32> {train.binding = #train.binding<input "x">}, %w: tensor<1x8xf32> {train.binding = #train.binding<input "w">}) -> (tensor<1x8xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    %0 = sched.library "onnx.MatMul"(%x, %x) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %1 = sched.library "onnx.Gemm"(%x, %x, %0) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = sched.library "onnx.Gemm"(%x, %x, %1) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sched.library "onnx.Gemm"(%2, %2, %2) {} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = sched.library "onnx.MatMul"(%w, %3) {} : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    %5 = sched.library "onnx.Gemm"(%w, %3, %4) {} : (tensor<1x8xf32>, tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    return %5 : tensor<1x8xf32>
  }
}

// -----

// Nor on a CPU, whose products read C when they have written their sums.
// CHECK-LABEL: module {
// CHECK: exec.launch library "onnx.MatMul" reads(%0, %0) writes([[FIRST:%[0-9]+]])
// CHECK-NEXT: exec.launch library "onnx.Gemm" reads(%0, %0, [[FIRST]]) writes([[SECOND:%[0-9]+]])
// CHECK-NOT: writes([[SECOND]])
func.func @step(%x: tensor<16x8xf32> {train.binding = #train.binding<input "x">}) -> (tensor<8x8xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %0 = sched.library "onnx.MatMul"(%x, %x) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = sched.library "onnx.Gemm"(%x, %x, %0) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sched.library "onnx.Gemm"(%x, %x, %1) {transA = true} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// A GPU stores a point in the first walk over a row that can compute it. The doubled elements do not lie on those that a later walk
// reads again, but the shares, which wait for all folds, do; and so does what one walk computes.
// CHECK: %[[X:.*]] = exec.buffer "x"
// CHECK: exec.launch "cluster" reads(%[[X]]) writes(%[[X]])
// CHECK-NEXT: exec.launch "cluster" reads(%[[X]]) writes(%[[EARLY:[0-9]+]], %[[X]])
// CHECK-NEXT: exec.launch "cluster" reads(%[[EARLY]]) writes(%[[EARLY]], %{{.*}})
#point = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
module attributes {kedge.target = "cuda"} {
  func.func @predict(%x: tensor<4x16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}, tensor<4xf32> {train.binding = #train.binding<output "z">}) attributes {train.kind = #train.kind<predict>} {
    %twice = sched.cluster domain [4, 16] reduced [] (%x) maps [#point] -> [#point] {
    ^bb0(%a: f32):
      %t = arith.addf %a, %a : f32
      sched.yield %t : f32
    } : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %early, %shares = sched.cluster domain [4, 16] reduced [1] (%twice) maps [#point] -> [#point, #point] {
    ^bb0(%a: f32):
      %t = arith.addf %a, %a : f32
      %s = sched.reduce add %a : f32
      %u = arith.divf %a, %s : f32
      sched.yield %t, %u : f32, f32
    } : (tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
    %once, %sum = sched.cluster domain [4, 16] reduced [1] (%early) maps [#point] -> [#point, #row] {
    ^bb0(%a: f32):
      %t = arith.mulf %a, %a : f32
      %s = sched.reduce add %t : f32
      sched.yield %t, %s : f32, f32
    } : (tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>)
    %last = sched.cluster domain [4, 16] reduced [1] (%once, %shares) maps [#point, #point] -> [#row] {
    ^bb0(%a: f32, %b: f32):
      %t = arith.mulf %a, %b : f32
      %s = sched.reduce add %t : f32
      sched.yield %s : f32
    } : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4xf32>
    return %sum, %last : tensor<4xf32>, tensor<4xf32>
  }
}
