// RUN: kedge-opt %s --kedge-insert-fake-quantization="weights=.*=int8" --kedge-fold-norms --kedge-round-biases --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-round-biases biases
train.state parameter @a tensor<4x1x3x3xf32>
train.state parameter @w tensor<6x144xf32>
train.state parameter @b tensor<6xf32>
train.state parameter @scale tensor<4xf32>
train.state parameter @shift tensor<4xf32>
train.state buffer @mean tensor<4xf32>
train.state buffer @variance tensor<4xf32>
// Of a norm that is in the weight: shift - mean factor, in evaluation in the place of the norm.
// CHECK: %[[X:.*]], %{{.*}} = train.range_scale %{{.*}} {high = 255
// CHECK: %[[W:.*]], %{{.*}} = train.range_scale %{{.*}} {high = 127
// CHECK: %[[C:.*]] = onnx.Conv
// CHECK: %[[Y:[^,]*]], {{.*}} = train.batch_norm
// CHECK: %[[D:.*]] = train.inverse_deviation %[[V:.*]] {
// CHECK: %[[F:.*]] = onnx.Mul %[[S:.*]], %[[D]]
// CHECK: %[[M:.*]] = onnx.Mul %{{.*}}, %[[F]]
// CHECK: %[[BIAS:.*]] = onnx.Sub %{{.*}}, %[[M]]
// CHECK: %[[FLAT:.*]] = onnx.Reshape %[[W]] {shape = array<i64: 4>}
// CHECK: %[[STEPS:.*]] = onnx.Mul %[[X]], %[[FLAT]]
// CHECK: %[[Q:.*]] = train.fake_quantize %[[BIAS]], %[[STEPS]], %{{.*}} {high = 2147483647 : i64, low = -2147483648 : i64}
// CHECK: %[[R:.*]] = onnx.Reshape %[[Q]] {shape = array<i64: 1, 4, 1, 1>}
// CHECK: %[[E:.*]] = onnx.Add %[[C]], %[[R]]
// CHECK: train.by_mode %[[Y]], %[[E]]
// A Gemm's own.
// CHECK: %[[OWN:.*]] = train.fake_quantize %[[B:[a-z0-9]+]], %{{.*}} {high = 2147483647 : i64, low = -2147483648 : i64}
// CHECK: %[[NOW:.*]] = train.by_mode %[[B]], %[[OWN]]
// CHECK: onnx.Gemm %{{.*}}, %{{.*}}, %[[NOW]]
func.func @model(%x: tensor<2x1x8x8xf32>, %a: tensor<4x1x3x3xf32> {train.binding = #train.binding<state @a>},
                 %w: tensor<6x144xf32> {train.binding = #train.binding<state @w>}, %b: tensor<6xf32> {train.binding = #train.binding<state @b>},
                 %s: tensor<4xf32> {train.binding = #train.binding<state @scale>}, %t: tensor<4xf32> {train.binding = #train.binding<state @shift>},
                 %m: tensor<4xf32> {train.binding = #train.binding<state @mean>},
                 %v: tensor<4xf32> {train.binding = #train.binding<state @variance>}) -> tensor<2x6xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Conv %x, %a {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>
  %y, %rm, %rv, %bm, %i = train.batch_norm %0, %s, %t, %m, %v {epsilon = 1.000000e-03 : f32} : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = onnx.Reshape %y {shape = array<i64: 2, 144>} : (tensor<2x4x6x6xf32>) -> tensor<2x144xf32>
  %2 = onnx.Gemm %1, %w, %b {transB = true} : (tensor<2x144xf32>, tensor<6x144xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  return %2 : tensor<2x6xf32>
}
