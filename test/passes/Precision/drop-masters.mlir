// RUN: kedge-opt %s --kedge-drop-masters --kedge-statistics --split-input-file 2>&1 | FileCheck %s

// The parameter is its 16-bit value; the optimizer reads it widened and rounds by chance. Dropout's seed and step are shared.
// The frozen tensor keeps its value and its copy.
// CHECK: train.state parameter @w tensor<4xbf16>
// CHECK-NOT: @w.working
// CHECK: train.state frozen @f tensor<4xf32>
// CHECK: train.state working_copy @f.working tensor<4xbf16>
// CHECK: func.func @step(%[[W:.*]]: tensor<4xbf16> {train.binding = #train.binding<state @w>}, %[[F:.*]]: tensor<4xbf16> {train.binding = #train.binding<state @f.working>}, %[[SEED:.*]]: tensor<i64> {train.binding = #train.binding<scalar "seed">}, %[[STEP:.*]]: tensor<i64> {train.binding = #train.binding<scalar "step">})
// CHECK-SAME: -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<4xbf16> {train.binding = #train.binding<state @w>})
// CHECK: %[[WIDE:.*]] = onnx.Cast %[[W]] {{.*}}to = f32
// CHECK: onnx.Mul %[[W]], %[[F]]
// CHECK: %[[NEW:.*]] = onnx.Sub %[[WIDE]]
// CHECK: %[[ROUNDED:.*]] = train.stochastic_round %[[NEW]], %[[SEED]], %[[STEP]] {{{.*}}op_id = 2147483648 : i64} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xbf16>
// CHECK: return %{{.*}}, %[[ROUNDED]]
// CHECK: func.func @restore(%{{.*}}: tensor<4xf32> {train.binding = #train.binding<state @f>}) -> (tensor<4xbf16> {train.binding = #train.binding<state @f.working>})
// CHECK-DAG: 1 kedge-drop-masters masters dropped
// CHECK-DAG: 16 kedge-drop-masters bytes saved
module {
  train.state parameter @w tensor<4xf32>
  train.state working_copy @w.working tensor<4xbf16> from unit {of = @w}
  train.state frozen @f tensor<4xf32>
  train.state working_copy @f.working tensor<4xbf16> from unit {of = @f}
  func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}, %low: tensor<4xbf16> {train.binding = #train.binding<state @w.working>},
                  %f: tensor<4xbf16> {train.binding = #train.binding<state @f.working>}, %seed: tensor<i64> {train.binding = #train.binding<scalar "seed">})
      -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<4xf32> {train.binding = #train.binding<state @w>},
          tensor<4xbf16> {train.binding = #train.binding<state @w.working>}) attributes {train.kind = #train.kind<step>} {
    %0 = onnx.Mul %low, %f : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %1 = onnx.Cast %0 {to = f32} : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = onnx.ReduceSum %1 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %3 = onnx.Sub %w, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = onnx.Cast %3 {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    return %2, %3, %4 : tensor<f32>, tensor<4xf32>, tensor<4xbf16>
  }
  func.func @restore(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}, %f: tensor<4xf32> {train.binding = #train.binding<state @f>})
      -> (tensor<4xbf16> {train.binding = #train.binding<state @w.working>}, tensor<4xbf16> {train.binding = #train.binding<state @f.working>}) attributes {train.kind = #train.kind<restore>} {
    %0 = onnx.Cast %w {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = onnx.Cast %f {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
  }
}
