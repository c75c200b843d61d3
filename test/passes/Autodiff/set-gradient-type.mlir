// RUN: kedge-opt %s --kedge-set-gradient-type=type=fp16 --kedge-statistics --split-input-file 2>&1 | FileCheck %s
// RUN: not kedge-opt %s --kedge-set-gradient-type=type=fp8 --split-input-file 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: unknown type 'fp8' of gradients: expected fp32, bf16 or fp16

// CHECK: func.func @step
// CHECK-SAME: (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<4xf16> {train.binding = #train.binding<gradient @w>}, tensor<2xf16> {train.binding = #train.binding<gradient @b>}, tensor<f64> {train.binding = #train.binding<gradient @d>})
// CHECK: %[[G:.*]] = onnx.Cast %{{.*}} {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK: return %{{.*}}, %[[G]], %{{.*}}, %{{.*}}
// CHECK: 1 kedge-set-gradient-type gradients cast
train.state parameter @w tensor<4xf32>
train.state parameter @b tensor<2xf32>
train.state parameter @d tensor<f64>
func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}, %x: tensor<2xf16> {train.binding = #train.binding<input "x">},
                %d: tensor<f64> {train.binding = #train.binding<state @d>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<4xf32> {train.binding = #train.binding<gradient @w>},
        tensor<2xf16> {train.binding = #train.binding<gradient @b>}, tensor<f64> {train.binding = #train.binding<gradient @d>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.ReduceSum %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1, %0, %x, %d : tensor<f32>, tensor<4xf32>, tensor<2xf16>, tensor<f64>
}
