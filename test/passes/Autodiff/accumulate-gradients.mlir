// RUN: kedge-opt %s --kedge-accumulate-gradients | FileCheck %s
// RUN: kedge-opt %s --kedge-accumulate-gradients=type=bf16 | FileCheck %s --check-prefix=NARROW
// RUN: not kedge-opt %s --kedge-accumulate-gradients=type=fp8 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: kedge-opt %s --kedge-set-mesh=parts=4 --kedge-accumulate-gradients=accumulate=4 | FileCheck %s --check-prefix=TREE
// RUN: kedge-opt %s --kedge-set-mesh=parts=4 --kedge-accumulate-gradients=accumulate=8 | FileCheck %s --check-prefix=ROUNDS
// RUN: kedge-opt %s --kedge-set-mesh="mesh=data=4 parts=4" --kedge-accumulate-gradients | FileCheck %s --check-prefix=ONE

// Four parts in a tree: the first of two waits, then the sum of the first two, where the total will be.
// TREE: train.state accumulator @w.accumulator0 tensor<3xf32>
// TREE-LABEL: func.func @micro
// TREE-SAME: %[[MICRO:[a-z0-9]+]]: tensor<i64>
// TREE: %[[G:.*]] = onnx.Cast
// TREE: %[[TWO:.*]] = onnx.Add %[[WAITS:[a-z0-9]+]], %[[G]]
// TREE: %[[FIRST:.*]] = onnx.Where %{{.*}}, %[[G]], %[[WAITS]]
// TREE: %[[FOUR:.*]] = onnx.Add %[[HALF:[a-z0-9]+]], %[[TWO]]
// TREE: %[[REST:.*]] = onnx.Where %{{.*}}, %[[FOUR]], %[[HALF]]
// TREE: %[[TOTAL:.*]] = onnx.Where %{{.*}}, %[[TWO]], %[[REST]]
// TREE: return %{{.*}}
// The micro-batches of a part are added in their order, then the parts.
// ROUNDS-DAG: train.state accumulator @w.accumulator.part tensor<3xf32>
// ROUNDS-DAG: train.state accumulator @w.accumulator0 tensor<3xf32>
// ROUNDS: %[[G:.*]] = onnx.Cast
// ROUNDS: %[[MORE:.*]] = onnx.Add %[[PART:[a-z0-9]+]], %[[G]]
// ROUNDS: %[[SUM:.*]] = onnx.Where %{{.*}}, %[[G]], %[[MORE]]
// ROUNDS: onnx.Add %{{.*}}, %[[SUM]]
// A rank's only part is its sum.
// ONE: train.state accumulator @w.accumulator tensor<3xf32>
// ONE-LABEL: func.func @micro
// ONE: %[[G:.*]] = onnx.Mul
// ONE: %[[SUM:.*]] = onnx.Cast %[[G]] {{.*}} : (tensor<3xbf16>) -> tensor<3xf32>
// ONE: return %[[SUM]]
// TYPE: error: unknown type 'fp8' of accumulators: expected fp32, bf16 or fp16
// NARROW: train.state accumulator @w.accumulator tensor<3xbf16> from unit {of = @w}
// NARROW: train.accumulate {{.*}} : (tensor<3xbf16>, tensor<3xbf16>, tensor<i64>) -> tensor<3xbf16>

// The accumulator is f32 whatever the gradient's type, and @update returns it as the gradient.
// CHECK: train.state accumulator @w.accumulator tensor<3xf32> from unit {of = @w}
// CHECK-LABEL: func.func @micro
// CHECK-SAME: tensor<3xf32> {train.binding = #train.binding<state @w.accumulator>}
// CHECK: %[[G:.*]] = onnx.Mul
// CHECK: %[[SUM:.*]] = train.accumulate %{{.*}}, %[[G]], %{{.*}} : (tensor<3xf32>, tensor<3xbf16>, tensor<i64>) -> tensor<3xf32>
// CHECK: return %[[SUM]]
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[A:.*]]: tensor<3xf32> {train.binding = #train.binding<state @w.accumulator>})
// CHECK-SAME: (tensor<3xf32> {train.binding = #train.binding<gradient @w>})
// CHECK: return %[[A]]
train.state parameter @w tensor<3xf32>
func.func @micro(%x: tensor<3xbf16> {train.binding = #train.binding<input "x">})
    -> (tensor<3xbf16> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
  %0 = onnx.Mul %x, %x : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  return %0 : tensor<3xbf16>
}
