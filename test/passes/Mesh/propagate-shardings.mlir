// RUN: kedge-opt %s --kedge-propagate-shardings --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err

// Products alternate: columns, then rows. The bias of the first is cut with its columns, that of the second is whole; so are
// a weight of one column. 5 columns on 2 ranks are 3 and 2. The table of the embedding, which nothing else cuts, is cut by rows.
#forward = #kedge.place<forward "", "y">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  // CHECK: @table tensor<10x4xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  train.state parameter @table tensor<10x4xf32>
  // CHECK: @up tensor<4x6xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
  train.state parameter @up tensor<4x6xf32>
  // CHECK: @up.bias tensor<6xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  train.state parameter @up.bias tensor<6xf32>
  // CHECK: @down tensor<6x4xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  train.state parameter @down tensor<6x4xf32>
  // CHECK: @down.bias tensor<4xf32>{{$}}
  train.state parameter @down.bias tensor<4xf32>
  // CHECK: @last tensor<4x1xf32>{{$}}
  train.state parameter @last tensor<4x1xf32>
  // CHECK: @odd tensor<4x5xf32> {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>}
  train.state parameter @odd tensor<4x5xf32>
  // The dimension is three tensors in a row, each is cut by itself.
  // CHECK: @three tensor<4x12xf32> {dist.cut = #dist.cut<1 over "tensor" = 2 sections[4, 4, 4]>}
  train.state parameter @three tensor<4x12xf32>
  func.func @step(%ids: tensor<5xi64> {train.binding = #train.binding<input "ids">},
      %table: tensor<10x4xf32> {train.binding = #train.binding<state @table>},
      %up: tensor<4x6xf32> {train.binding = #train.binding<state @up>},
      %upBias: tensor<6xf32> {train.binding = #train.binding<state @up.bias>},
      %down: tensor<6x4xf32> {train.binding = #train.binding<state @down>},
      %downBias: tensor<4xf32> {train.binding = #train.binding<state @down.bias>},
      %last: tensor<4x1xf32> {train.binding = #train.binding<state @last>},
      %odd: tensor<4x5xf32> {train.binding = #train.binding<state @odd>},
      %three: tensor<4x12xf32> {train.binding = #train.binding<state @three>})
      -> (tensor<5x1xf32> {train.binding = #train.binding<output "y">}, tensor<5x5xf32> {train.binding = #train.binding<output "o">}, tensor<f32> {train.binding = #train.binding<output "z">})
      attributes {train.kind = #train.kind<step>} {
    // CHECK: onnx.Gather {{.*}} {axis = 0 : i64, dist.cut = #dist.cut<0 over "tensor" = 2>
    %x = onnx.Gather %table, %ids {axis = 0 : i64, kedge.place = #forward} : (tensor<10x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
    // CHECK: onnx.Gemm {{.*}} {dist.cut = #dist.cut<1 over "tensor" = 2>
    %a = onnx.Gemm %x, %up, %upBias {kedge.place = #forward} : (tensor<5x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
    // CHECK: onnx.Relu {{.*}} {dist.cut = #dist.cut<1 over "tensor" = 2>
    %b = onnx.Relu %a {kedge.place = #forward} : (tensor<5x6xf32>) -> tensor<5x6xf32>
    // CHECK: onnx.Gemm {{.*}} {dist.cut = #dist.cut<2 over "tensor" = 2>
    %c = onnx.Gemm %b, %down, %downBias {kedge.place = #forward} : (tensor<5x6xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
    // CHECK: onnx.MatMul
    // CHECK-NOT: dist.cut
    // CHECK-SAME: tensor<5x1xf32>
    %y = onnx.MatMul %c, %last {kedge.place = #forward} : (tensor<5x4xf32>, tensor<4x1xf32>) -> tensor<5x1xf32>
    // CHECK: onnx.MatMul {{.*}} {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>
    %o = onnx.MatMul %c, %odd {kedge.place = #forward} : (tensor<5x4xf32>, tensor<4x5xf32>) -> tensor<5x5xf32>
    // CHECK: onnx.MatMul {{.*}} {dist.cut = #dist.cut<1 over "tensor" = 2 sections[4, 4, 4]>
    %q = onnx.MatMul %c, %three {kedge.place = #forward} : (tensor<5x4xf32>, tensor<4x12xf32>) -> tensor<5x12xf32>
    // CHECK: onnx.Split {{.*}} dist.cut = #dist.cut<1 over "tensor" = 2>
    %p:3 = onnx.Split %q {axis = 1 : i64, kedge.place = #forward, split = array<i64: 4, 4, 4>} : (tensor<5x12xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>)
    %r = onnx.Mul %p#0, %p#1 {kedge.place = #forward} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    // Sums over what is cut are parts of the sum.
    // CHECK: onnx.ReduceSum {{.*}} dist.cut = #dist.cut<1 over "tensor" = 2>
    %z = onnx.ReduceSum %r {axes = array<i64: 0, 1>, kedge.place = #forward} : (tensor<5x4xf32>) -> tensor<f32>
    return %y, %o, %z : tensor<5x1xf32>, tensor<5x5xf32>, tensor<f32>
  }
}
// STATISTICS: remark: is computed whole on each of 2 ranks: no dimension of its weight is cut into blocks that what follows can use; 16 bytes of weight on each
// STATISTICS: kedge-propagate-shardings  bytes saved
// STATISTICS: kedge-propagate-shardings  ops cut
// STATISTICS: 1  kedge-propagate-shardings  products whole
// STATISTICS: 6  kedge-propagate-shardings  states cut
