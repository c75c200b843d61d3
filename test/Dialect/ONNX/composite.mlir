// Shapes that norms, attention, rotary embedding and losses infer: each line verifies.
// RUN: kedge-opt %s | FileCheck %s

// CHECK-LABEL: @norms
func.func @norms(%x: tensor<2x3x8xf32>, %s: tensor<8xf32>, %h: tensor<2x3x8xbf16>, %hs: tensor<8xbf16>,
                 %i: tensor<2x6x4x4xf32>, %c: tensor<6xf32>) {
  // CHECK: onnx.LayerNormalization
  %0:3 = onnx.LayerNormalization %x, %s, %s : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  // Statistics of 16-bit rows are f32.
  %1:2 = onnx.RMSNormalization %h, %hs : (tensor<2x3x8xbf16>, tensor<8xbf16>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>)
  %2:3 = onnx.GroupNormalization %i, %c, %c {num_groups = 3} : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %3:3 = onnx.InstanceNormalization %i, %c, %c : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %4:5 = train.batch_norm %i, %c, %c, %c, %c : (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<2x8x4x16xf32>, %k: tensor<2x2x6x16xf32>, %v: tensor<2x6x2x12xf32>, %m: tensor<2x1x1x6xi1>,
                     %cos: tensor<4x8xf32>) {
  // CHECK: train.attention
  %0:2 = train.attention %q, %k, %v, %m {scale = 0.25, v_layout = "bthd", o_layout = "bthd"}
    : (tensor<2x8x4x16xf32>, tensor<2x2x6x16xf32>, tensor<2x6x2x12xf32>, tensor<2x1x1x6xi1>) -> (tensor<2x4x8x12xf32>, tensor<2x8x4xf32>)
  %1 = train.rotary %q, %q, %cos, %cos : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x8x4x16xf32>
  return
}

// CHECK-LABEL: @losses
func.func @losses(%x: tensor<4x10x3xf32>, %y: tensor<4x3xi64>) {
  // CHECK: onnx.SoftmaxCrossEntropyLoss
  %0:2 = onnx.SoftmaxCrossEntropyLoss %x, %y {with_log_prob = true} : (tensor<4x10x3xf32>, tensor<4x3xi64>) -> (tensor<f32>, tensor<4x10x3xf32>)
  %1 = onnx.NegativeLogLikelihoodLoss %x, %y {reduction = "none", ignore_index = 2} : (tensor<4x10x3xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}
