// RUN: kedge-opt %s --kedge-split-masters --kedge-statistics 2>&1 | FileCheck %s

// The parameter is its bf16 value, which products read; the optimizer reads both parts joined and takes its result apart. The
// frozen tensor keeps its value and its copy, and what has an fp16 copy stays.
// CHECK: train.state parameter @w tensor<4xbf16>
// CHECK: train.state residual @w.residual tensor<4xi8> from unit {of = @w}
// CHECK-NOT: @w.working
// CHECK: train.state frozen @f tensor<4xf32>
// CHECK: train.state working_copy @f.working tensor<4xbf16>
// CHECK: train.state parameter @h tensor<4xf32>
// CHECK: func.func @step(%[[W:.*]]: tensor<4xbf16> {train.binding = #train.binding<state @w>}, %[[F:.*]]: tensor<4xbf16> {train.binding = #train.binding<state @f.working>}, %[[R:.*]]: tensor<4xi8> {train.binding = #train.binding<state @w.residual>})
// CHECK-SAME: -> (tensor<4xbf16> {train.binding = #train.binding<state @w>}, tensor<4xi8> {train.binding = #train.binding<state @w.residual>})
// CHECK: %[[WIDE:.*]] = train.join %[[W]], %[[R]]
// CHECK: onnx.Mul %[[W]], %[[F]]
// CHECK: %[[NEW:.*]] = onnx.Sub %[[WIDE]]
// CHECK: %[[VALUE:.*]], %[[REST:.*]] = train.split %[[NEW]]
// CHECK: return %[[VALUE]], %[[REST]]
// CHECK: func.func @restore(%{{.*}}: tensor<4xf32> {train.binding = #train.binding<state @f>}) -> (tensor<4xbf16> {train.binding = #train.binding<state @f.working>})
// CHECK-DAG: 1 kedge-split-masters masters split
// CHECK-DAG: 12 kedge-split-masters bytes saved
module {
  train.state parameter @w tensor<4xf32>
  train.state working_copy @w.working tensor<4xbf16> from unit {of = @w}
  train.state frozen @f tensor<4xf32>
  train.state working_copy @f.working tensor<4xbf16> from unit {of = @f}
  train.state parameter @h tensor<4xf32>
  train.state working_copy @h.working tensor<4xf16> from unit {of = @h}
  func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}, %low: tensor<4xbf16> {train.binding = #train.binding<state @w.working>},
                  %f: tensor<4xbf16> {train.binding = #train.binding<state @f.working>})
      -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<4xbf16> {train.binding = #train.binding<state @w.working>}) attributes {train.kind = #train.kind<step>} {
    %0 = onnx.Mul %low, %f : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %1 = onnx.Cast %0 {to = f32} : (tensor<4xbf16>) -> tensor<4xf32>
    %3 = onnx.Sub %w, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = onnx.Cast %3 {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    return %3, %4 : tensor<4xf32>, tensor<4xbf16>
  }
  func.func @restore(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}, %f: tensor<4xf32> {train.binding = #train.binding<state @f>})
      -> (tensor<4xbf16> {train.binding = #train.binding<state @w.working>}, tensor<4xbf16> {train.binding = #train.binding<state @f.working>}) attributes {train.kind = #train.kind<restore>} {
    %0 = onnx.Cast %w {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    %1 = onnx.Cast %f {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
  }
}
