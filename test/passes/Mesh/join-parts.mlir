// RUN: kedge-opt %s --split-input-file --kedge-join-parts=largest=100 | FileCheck %s
// RUN: kedge-opt %s --split-input-file --kedge-join-parts=largest=100 --kedge-statistics 2> %t.err
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err

#forward = #kedge.place<forward "", "y">
#backward = #kedge.place<backward "", "y">
// The product with the weight packs it once. Its gradient adds its parts in the product; that of the bias is added by the parts' own sums,
// and the loss as the program adds micro-batches.
// CHECK: module attributes {dist.joined, dist.parts = 2 : i64}
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK: %[[Y:.*]] = onnx.MatMul %[[X]], %{{.*}} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[DW:.*]] = train.sum_products %[[X]], %[[Y]] {{{.*}}parts = 2 : i64, transA = true} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK: %[[FIRST:.*]] = onnx.Slice %[[Y]] {ends = array<i64: 2, 3>
// CHECK: %[[SUM0:.*]] = onnx.ReduceSum %[[FIRST]] {{.*}} : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK: %[[SECOND:.*]] = onnx.Slice %[[Y]] {ends = array<i64: 4, 3>
// CHECK: %[[SUM1:.*]] = onnx.ReduceSum %[[SECOND]] {{.*}} : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK: %[[DB:.*]] = onnx.Add %[[SUM0]], %[[SUM1]]
// CHECK: onnx.Add %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: return %[[DW]], %[[DB]], %{{.*}} : tensor<2x3xf32>, tensor<3xf32>, tensor<f64>
// CHECK-NOT: module @part
module attributes {dist.parts = 2 : i64} {
  train.state parameter @w tensor<2x3xf32>
  train.state parameter @b tensor<3xf32>
  func.func @micro(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x3xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<2x3xf32> {train.binding = #train.binding<gradient @w>}, tensor<3xf32> {train.binding = #train.binding<gradient @b>},
          tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
    %y = onnx.MatMul %x, %w {kedge.place = #forward} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %loss = onnx.ReduceSum %y {axes = array<i64: 0, 1>, kedge.place = #forward} : (tensor<4x3xf32>) -> tensor<f32>
    %dw = onnx.MatMul %x, %y {kedge.place = #backward, transA = true} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %db = onnx.ReduceSum %y {axes = array<i64: 0>, kedge.place = #backward} : (tensor<4x3xf32>) -> tensor<3xf32>
    return %dw, %db, %loss : tensor<2x3xf32>, tensor<3xf32>, tensor<f32>
  }
  module @part {
    train.state parameter @w tensor<2x3xf32>
    train.state parameter @b tensor<3xf32>
    func.func @micro(%x: tensor<2x2xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x3xf32> {train.binding = #train.binding<state @w>})
        -> (tensor<2x3xf32> {train.binding = #train.binding<gradient @w>}, tensor<3xf32> {train.binding = #train.binding<gradient @b>},
            tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
      %y = onnx.MatMul %x, %w {kedge.place = #forward} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %loss = onnx.ReduceSum %y {axes = array<i64: 0, 1>, kedge.place = #forward} : (tensor<2x3xf32>) -> tensor<f32>
      %dw = onnx.MatMul %x, %y {kedge.place = #backward, transA = true} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %db = onnx.ReduceSum %y {axes = array<i64: 0>, kedge.place = #backward} : (tensor<2x3xf32>) -> tensor<3xf32>
      return %dw, %db, %loss : tensor<2x3xf32>, tensor<3xf32>, tensor<f32>
    }
  }
}

// -----

// A result that is larger than asked is there one part after the other, and what follows from it; its gradient of the same state is added
// to another one part by part before the tree.
#forward = #kedge.place<forward "", "y">
#backward = #kedge.place<backward "", "y">
// CHECK-LABEL: func.func @micro
// CHECK-COUNT-2: onnx.MatMul %{{.*}} : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK-NOT: tensor<4x16xf32>
module attributes {dist.parts = 2 : i64} {
  train.state parameter @w tensor<2x16xf32>
  func.func @micro(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x16xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<2x16xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
    %y = onnx.MatMul %x, %w {kedge.place = #forward} : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
    %dw = onnx.MatMul %x, %y {kedge.place = #backward, transA = true} : (tensor<4x2xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
    %both = onnx.Add %dw, %dw {kedge.place = #backward} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    return %both : tensor<2x16xf32>
  }
  module @part {
    train.state parameter @w tensor<2x16xf32>
    func.func @micro(%x: tensor<2x2xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x16xf32> {train.binding = #train.binding<state @w>})
        -> (tensor<2x16xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
      %y = onnx.MatMul %x, %w {kedge.place = #forward} : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
      %dw = onnx.MatMul %x, %y {kedge.place = #backward, transA = true} : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
      %both = onnx.Add %dw, %dw {kedge.place = #backward} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
      return %both : tensor<2x16xf32>
    }
  }
}

// -----

// Other ops: nothing changes.
#forward = #kedge.place<forward "", "y">
// CHECK: module attributes {dist.parts = 2 : i64}
// CHECK-LABEL: func.func @micro
// CHECK-NEXT: onnx.Relu
module attributes {dist.parts = 2 : i64} {
  func.func @micro(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">})
      -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
    %y = onnx.Relu %x {kedge.place = #forward} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %loss = onnx.ReduceSum %y {axes = array<i64: 0, 1>, kedge.place = #forward} : (tensor<4x2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  module @part {
    func.func @micro(%x: tensor<2x2xf32> {train.binding = #train.binding<input "x">})
        -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
      %y = onnx.Tanh %x {kedge.place = #forward} : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %loss = onnx.ReduceSum %y {axes = array<i64: 0, 1>, kedge.place = #forward} : (tensor<2x2xf32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
  }
}
// STATISTICS: kedge-join-parts  ops apart
// STATISTICS: kedge-join-parts  ops joined
// STATISTICS: kedge-join-parts  sums in products
