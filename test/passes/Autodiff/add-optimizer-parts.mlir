// RUN: kedge-opt %s --split-input-file --kedge-set-mesh=parts=4 --kedge-add-optimizer=optimizer=sgd | FileCheck %s
// RUN: kedge-opt %s --split-input-file --kedge-set-mesh="mesh=data=2 parts=4" --kedge-add-optimizer=optimizer=sgd | FileCheck %s --check-prefix=TWO

// Squares by equal parts of each tensor, in a tree; a tensor without equal parts is folded whole, by every rank.
// CHECK-COUNT-4: onnx.Slice {{.*}} : (tensor<8xf32>) -> tensor<2xf32>
// CHECK: %[[A:.*]] = onnx.ReduceSumSquare {{.*}} -> tensor<f32>
// CHECK: %[[B:.*]] = onnx.ReduceSumSquare {{.*}} -> tensor<f32>
// CHECK: %[[C:.*]] = onnx.ReduceSumSquare {{.*}} -> tensor<f32>
// CHECK: %[[D:.*]] = onnx.ReduceSumSquare {{.*}} -> tensor<f32>
// CHECK: %[[AB:.*]] = onnx.Add %[[A]], %[[B]]
// CHECK: %[[CD:.*]] = onnx.Add %[[C]], %[[D]]
// CHECK: %[[ALL:.*]] = onnx.Add %[[AB]], %[[CD]]
// CHECK: %[[ODD:.*]] = onnx.ReduceSumSquare {{.*}} : (tensor<3xf32>) -> tensor<f32>
// CHECK: onnx.Add %[[ALL]], %[[ODD]]
// TWO: dist.local_shard {{.*}} : (tensor<2x4xf32>) -> tensor<4xf32>
// TWO-COUNT-2: onnx.Slice {{.*}} : (tensor<4xf32>) -> tensor<2xf32>
// TWO: %[[AB:.*]] = onnx.Add
// TWO: dist.all_reduce %[[AB]] {{.*}}kind = "sum", order = "tree", ranks = 2 : i64}
// TWO: onnx.ReduceSumSquare {{.*}} : (tensor<3xf32>) -> tensor<f32>
train.state parameter @w tensor<2x4xf32>
train.state parameter @b tensor<3xf32>
func.func @micro(%x: tensor<2xf32> {train.binding = #train.binding<input "x">}) attributes {train.kind = #train.kind<micro>} {
  return
}
func.func @update(%g: tensor<2x4xf32> {train.binding = #train.binding<input "g">}, %h: tensor<3xf32> {train.binding = #train.binding<input "h">})
    -> (tensor<2x4xf32> {train.binding = #train.binding<gradient @w>}, tensor<3xf32> {train.binding = #train.binding<gradient @b>})
    attributes {train.kind = #train.kind<update>} {
  return %g, %h : tensor<2x4xf32>, tensor<3xf32>
}

// -----

// Where each part has as many rows, these are folded in one go, and what they leave by parts.
// CHECK: %[[ROWS:.*]] = onnx.ReduceSumSquare {{.*}} : (tensor<8x4xf32>) -> tensor<8xf32>
// CHECK-COUNT-4: onnx.Slice %[[ROWS]] {{.*}} -> tensor<2xf32>
// CHECK-COUNT-4: onnx.ReduceSum {{.*}} : (tensor<2xf32>) -> tensor<f32>
// TWO: dist.local_shard {{.*}} : (tensor<8x4xf32>) -> tensor<16xf32>
// TWO: %[[ROWS:.*]] = onnx.ReduceSumSquare {{.*}} : (tensor<4x4xf32>) -> tensor<4xf32>
// TWO-COUNT-2: onnx.Slice %[[ROWS]] {{.*}} -> tensor<2xf32>
train.state parameter @w tensor<8x4xf32>
func.func @micro(%x: tensor<2xf32> {train.binding = #train.binding<input "x">}) attributes {train.kind = #train.kind<micro>} {
  return
}
func.func @update(%g: tensor<8x4xf32> {train.binding = #train.binding<input "g">}) -> (tensor<8x4xf32> {train.binding = #train.binding<gradient @w>})
    attributes {train.kind = #train.kind<update>} {
  return %g : tensor<8x4xf32>
}
