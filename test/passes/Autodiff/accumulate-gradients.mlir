// RUN: kedge-opt %s --kedge-accumulate-gradients | FileCheck %s
// RUN: kedge-opt %s --kedge-accumulate-gradients=type=bf16 | FileCheck %s --check-prefix=NARROW
// RUN: not kedge-opt %s --kedge-accumulate-gradients=type=fp8 2>&1 | FileCheck %s --check-prefix=TYPE
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
