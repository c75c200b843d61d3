// RUN: kedge-opt %s --kedge-unroll-micro-batches=micro-batches=2 --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-unroll-micro-batches=micro-batches=1 | FileCheck %s --check-prefix=ONE

// Both micro-batches come to the sum before one goes on; what follows from sums and states alone is there once, and the state that it
// updates has one new value, of its old one. Gradients are added up, and the update follows.
// CHECK-NOT: @micro
// CHECK-NOT: accumulator
// CHECK: func.func @step(%[[X:.*]]: tensor<8xf32> {train.binding = #train.binding<input "x">}
// CHECK: %[[X0:.*]] = onnx.Slice %[[X]] {{.*}}starts = array<i64: 0>
// CHECK: %[[S0:.*]] = onnx.ReduceSum %[[X0]]
// CHECK: %[[X1:.*]] = onnx.Slice %[[X]] {{.*}}starts = array<i64: 4>
// CHECK: %[[S1:.*]] = onnx.ReduceSum %[[X1]]
// CHECK: %[[SUM:.*]] = onnx.Add %[[S0]], %[[S1]]
// CHECK: %[[RUNNING:.*]] = onnx.Add %[[OLD:.*]], %[[SUM]]
// CHECK: %[[TWICE:.*]] = onnx.Neg %[[SUM]]
// CHECK: %[[G0:.*]] = onnx.Mul %[[S0]], %[[TWICE]]
// CHECK-NOT: onnx.Neg
// CHECK: %[[G1:.*]] = onnx.Mul %[[S1]], %[[TWICE]]
// CHECK: %[[G:.*]] = train.accumulate %[[G0]], %[[G1]]
// CHECK: %[[NEW:.*]] = onnx.Sub %{{.*}}, %[[G]]
// CHECK: %[[LOSS:.*]] = onnx.Add %[[G0]], %[[G1]]
// CHECK: return {{.*}}%[[RUNNING]]{{.*}}%[[NEW]]
// CHECK-NOT: dist.pipeline_stage
// CHECK-DAG: 1 kedge-unroll-micro-batches sums joined
// CHECK-DAG: 8 kedge-unroll-micro-batches ops written
// ONE: func.func @step(%[[X:.*]]: tensor<4xf32>
// ONE: %[[S:.*]] = onnx.ReduceSum %[[X]]
// ONE: onnx.Neg %[[S]]
module {
  train.state parameter @w tensor<f32>
  train.state buffer @running tensor<f32>
  train.state accumulator @w.accumulator tensor<f32> {of = @w}
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %old: tensor<f32> {train.binding = #train.binding<state @running>},
                   %before: tensor<f32> {train.binding = #train.binding<state @w.accumulator>}, %index: tensor<i64> {train.binding = #train.binding<scalar "micro">})
      -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<f32> {train.binding = #train.binding<state @running>}, tensor<f32> {train.binding = #train.binding<state @w.accumulator>}) attributes {train.kind = #train.kind<micro>} {
    %0 = onnx.ReduceSum %x {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    %1 = train.sum_micros %0 : (tensor<f32>) -> tensor<f32>
    %2 = onnx.Add %old, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = onnx.Neg %1 : (tensor<f32>) -> tensor<f32>
    %4 = onnx.Mul %0, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = train.accumulate %before, %4, %index : (tensor<f32>, tensor<f32>, tensor<i64>) -> tensor<f32>
    return %4, %2, %5 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func @update(%w: tensor<f32> {train.binding = #train.binding<state @w>}, %sum: tensor<f32> {train.binding = #train.binding<state @w.accumulator>})
      -> (tensor<f32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<update>} {
    %0 = onnx.Sub %w, %sum : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
