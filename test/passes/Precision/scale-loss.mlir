// RUN: kedge-opt %s --pass-pipeline='builtin.module(kedge-scale-loss{init=256 hysteresis=2},func.func(kedge-differentiate),kedge-add-optimizer{optimizer=sgd scale-window=8})' | FileCheck %s
// RUN: not kedge-opt %s --kedge-scale-loss=init=0 2>&1 | FileCheck %s --check-prefix=ZERO

// CHECK: train.state scaler @scaler.loss_scale tensor<f32> from 2.560000e+02 : f64
// CHECK: train.state scaler @scaler.hysteresis tensor<i64> from 2.000000e+00 : f64
// CHECK: func.func @step
// The gradient that enters backward is multiplied by the scale.
// CHECK: %[[LOSS:.*]] = train.scale_loss %{{.*}}, %[[SCALE:[a-z0-9]+]]
// CHECK: onnx.Mul %{{.*}}, %[[SCALE]]
// CHECK: %[[FLAGS:.*]] = train.not_finite
// CHECK: %[[FOUND:.*]] = onnx.ReduceMax %[[FLAGS]]
// CHECK: %[[SKIPPED:.*]] = onnx.Greater %[[FOUND]]
// CHECK: train.update_scale %[[SCALE]], {{.*}}window = 8
// CHECK: train.count_step
// CHECK: %[[INVERSE:.*]] = train.inverse_scale %[[SCALE]]
// CHECK: %[[NEW:.*]] = train.sgd
// CHECK: onnx.Where %[[SKIPPED]], %{{.*}}, %[[NEW]]
// ZERO: a loss scale of 0.000000e+00: expected a positive finite number
train.state parameter @w tensor<3xf32>
func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  %0 = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.ReduceSum %0 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
