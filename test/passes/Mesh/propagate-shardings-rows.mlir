// RUN: kedge-opt %s --kedge-propagate-shardings --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// RUN: kedge-opt %s --kedge-propagate-shardings=sequence-parallel=false | FileCheck %s --check-prefix=OFF

// The sum behind a row-wise product is left in blocks of rows: of the batch, which the ranks divide. What follows is computed on
// these, up to the next product with a weight, which is cut by columns and reads all rows. The other operand of the residual's
// addition is whole: blocks of it cost nothing. A slice keeps the dimensions that it has all of.
#forward = #kedge.place<forward "", "y">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  train.state parameter @up tensor<4x6xf32>
  train.state parameter @down tensor<6x4xf32>
  // CHECK: @next tensor<4x8xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
  train.state parameter @next tensor<4x8xf32>
  // CHECK-LABEL: func.func @step
  // OFF-LABEL: func.func @step
  func.func @step(%x: tensor<8x3x4xf32> {train.binding = #train.binding<input "x">},
      %up: tensor<4x6xf32> {train.binding = #train.binding<state @up>},
      %down: tensor<6x4xf32> {train.binding = #train.binding<state @down>},
      %next: tensor<4x8xf32> {train.binding = #train.binding<state @next>})
      -> (tensor<8x1x8xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    // CHECK: onnx.MatMul {{.*}} {dist.cut = #dist.cut<2 over "tensor" = 2>, kedge
    %a = onnx.MatMul %x, %up {kedge.place = #forward} : (tensor<8x3x4xf32>, tensor<4x6xf32>) -> tensor<8x3x6xf32>
    // CHECK: onnx.MatMul {{.*}} {dist.cut = #dist.cut<3 over "tensor" = 2>, dist.scatter = #dist.cut<0 over "tensor" = 2>
    // OFF: onnx.MatMul
    // OFF-NOT: dist.scatter
    %b = onnx.MatMul %a, %down {kedge.place = #forward} : (tensor<8x3x6xf32>, tensor<6x4xf32>) -> tensor<8x3x4xf32>
    // CHECK: onnx.Add {{.*}} {dist.cut = #dist.cut<0 over "tensor" = 2>
    %c = onnx.Add %x, %b {kedge.place = #forward} : (tensor<8x3x4xf32>, tensor<8x3x4xf32>) -> tensor<8x3x4xf32>
    // CHECK: onnx.Slice {{.*}} {dist.cut = #dist.cut<0 over "tensor" = 2>
    %d = onnx.Slice %c {ends = array<i64: 8, 1, 4>, kedge.place = #forward, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
    // CHECK: onnx.MatMul {{.*}} {dist.cut = #dist.cut<2 over "tensor" = 2>, kedge
    %e = onnx.MatMul %d, %next {kedge.place = #forward} : (tensor<8x1x4xf32>, tensor<4x8xf32>) -> tensor<8x1x8xf32>
    return %e : tensor<8x1x8xf32>
  }
}
// STATISTICS: 1  kedge-propagate-shardings  sums scattered
