// RUN: kedge-opt %s --kedge-insert-fake-quantization="weights=.*=int8" --kedge-fold-norms --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 1 kedge-fold-norms norms

// The second convolution is read by another op, too, so its BatchNormalization stays.
// CHECK: train.state parameter @a {{.*}}tune.folded_norm = #tune.folded_norm<scale @scale bias @shift mean @mean variance @variance product_bias @ab epsilon 1.000000e-03 : f32>
// CHECK: train.state parameter @b
// CHECK-NOT: folded_norm
train.state parameter @a tensor<4x1x3x3xf32>
train.state parameter @b tensor<4x4x1x1xf32>
train.state parameter @ab tensor<4xf32>
train.state parameter @scale tensor<4xf32>
train.state parameter @shift tensor<4xf32>
train.state buffer @mean tensor<4xf32>
train.state buffer @variance tensor<4xf32>
// CHECK: %[[D:.*]] = train.inverse_deviation %[[V:.*]] {epsilon = 1.000000e-03 : f32}
// CHECK: %[[F:.*]] = onnx.Mul %[[S:.*]], %[[D]]
// CHECK: onnx.Equal %[[F]]
// CHECK: %[[S1:.*]] = onnx.Where %{{.*}}, %{{.*}}, %[[F]]
// CHECK: %[[R:.*]] = onnx.Reshape %[[S1]] {shape = array<i64: 4, 1, 1, 1>}
// CHECK: %[[W:.*]] = onnx.Mul %{{.*}}, %[[R]] : (tensor<4x1x3x3xf32>, tensor<4x1x1x1xf32>)
// CHECK: onnx.ReduceMin %[[W]]
// CHECK: onnx.ReduceMax %[[W]]
// CHECK: %[[Q:.*]] = train.fake_quantize %[[W]]
// CHECK: %[[C:.*]] = onnx.Conv %{{.*}}, %[[Q]] {{.*}} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>
// CHECK: %[[R2:.*]] = onnx.Reshape %[[S1]] {shape = array<i64: 1, 4, 1, 1>}
// CHECK: %[[Y:.*]] = onnx.Div %[[C]], %[[R2]]
// CHECK: %[[B:.*]] = onnx.Add %[[Y]]
// CHECK: train.batch_norm %[[B]], %[[S]]
// CHECK: %[[C2:.*]] = onnx.Conv
// CHECK: onnx.BatchNormalization %[[C2]]
func.func @model(%x: tensor<2x1x8x8xf32>, %a: tensor<4x1x3x3xf32> {train.binding = #train.binding<state @a>},
                 %b: tensor<4x4x1x1xf32> {train.binding = #train.binding<state @b>},
                 %ab: tensor<4xf32> {train.binding = #train.binding<state @ab>},
                 %s: tensor<4xf32> {train.binding = #train.binding<state @scale>}, %t: tensor<4xf32> {train.binding = #train.binding<state @shift>},
                 %m: tensor<4xf32> {train.binding = #train.binding<state @mean>},
                 %v: tensor<4xf32> {train.binding = #train.binding<state @variance>}) -> tensor<2x4x6x6xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Conv %x, %a, %ab {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %y, %rm, %rv, %bm, %i = train.batch_norm %0, %s, %t, %m, %v {epsilon = 1.000000e-03 : f32} : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = onnx.Conv %y, %b {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %2 = onnx.BatchNormalization %1, %s, %t, %m, %v : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %3 = onnx.Add %1, %2 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %3 : tensor<2x4x6x6xf32>
}
