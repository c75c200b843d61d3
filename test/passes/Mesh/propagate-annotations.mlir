// RUN: kedge-opt %s --kedge-propagate-shardings | FileCheck %s
// RUN: not kedge-opt %s --kedge-propagate-shardings=shard=up=tensor:2 -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not kedge-opt %s --kedge-propagate-shardings=shard=nothing=tensor:0 -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not kedge-opt %s --kedge-propagate-shardings=shard=one=tensor:1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not kedge-opt %s --kedge-propagate-shardings=shard=up=data:0 -o /dev/null 2>&1 | FileCheck %s --check-prefix=AXIS

// What the file says takes the place of what the pass would choose: the second product is cut, the first stays whole. A node that
// has become a part of another op (the sum with a bias) is followed there.
// DIM: --shard up=tensor:2: 'up' has 2 dimensions, the first is 0
// ONE: --shard one=tensor:1: dimension 1 of 'one' has 1 element: expected one to cut
// NAME: --shard nothing=tensor:0: no parameter has such a name
// AXIS: for the --shard option: 'up=data:0': expected REGEX=tensor:DIM with a dimension from 0
#up = #kedge.place<forward "", "up">
#down = #kedge.place<forward "", "down">
#sum = #kedge.place<forward "", "sum">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>, dist.annotations = [
    #dist.annotation<#up reads ["x", "up"] makes ["a"]>,
    #dist.annotation<#down reads ["a", "down"] makes ["b"] specs [<"down" cut <1 over "tensor" = 2>>]>,
    #dist.annotation<#sum reads ["b", "down.bias"] makes ["y"] specs [<"y">]>]} {
  // CHECK: @up tensor<4x6xf32>{{$}}
  train.state parameter @up tensor<4x6xf32>
  train.state parameter @one tensor<4x1xf32>
  // CHECK: @down tensor<6x4xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
  train.state parameter @down tensor<6x4xf32>
  // CHECK: @down.bias tensor<4xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  train.state parameter @down.bias tensor<4xf32>
  func.func @step(%x: tensor<5x4xf32> {train.binding = #train.binding<input "x">},
      %up: tensor<4x6xf32> {train.binding = #train.binding<state @up>},
      %down: tensor<6x4xf32> {train.binding = #train.binding<state @down>},
      %downBias: tensor<4xf32> {train.binding = #train.binding<state @down.bias>})
      -> (tensor<5x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    // CHECK: onnx.MatMul
    // CHECK-NOT: dist.cut
    // CHECK-SAME: tensor<5x6xf32>
    %a = onnx.MatMul %x, %up {kedge.place = #up} : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    // CHECK: onnx.Gemm {{.*}} {dist.cut = #dist.cut<1 over "tensor" = 2>
    %y = onnx.Gemm %a, %down, %downBias {kedge.place = #down} : (tensor<5x6xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
    // The output is whole: what follows reads all of it.
    // CHECK: onnx.Relu
    // CHECK-NOT: dist.cut
    // CHECK-SAME: tensor<5x4xf32>
    %z = onnx.Relu %y {kedge.place = #kedge.place<forward "", "relu">} : (tensor<5x4xf32>) -> tensor<5x4xf32>
    return %z : tensor<5x4xf32>
  }
}
