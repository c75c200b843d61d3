// RUN: kedge-opt %s --kedge-decompose | FileCheck %s

// x / (bias + alpha mean(x^2 over 4 channels: one before, two behind))^beta; channels beyond the first and last count as 0.
// CHECK-LABEL: func.func @lrn(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[SQUARE:.*]] = onnx.Mul %[[X]], %[[X]]
// CHECK-NEXT: %[[IMAGE:.*]] = onnx.Reshape %[[SQUARE]] {shape = array<i64: 2, 1, 3, 4>}
// CHECK-NEXT: %[[POOL:.*]] = onnx.AveragePool %[[IMAGE]] {count_include_pad = true, {{.*}}kernel_shape = array<i64: 4, 1>, pads = array<i64: 1, 0, 2, 0>
// CHECK-NEXT: %[[MEAN:.*]] = onnx.Reshape %[[POOL]] {shape = array<i64: 2, 3, 4>}
// CHECK-NEXT: %[[ALPHA:.*]] = onnx.Constant dense<2.500000e-01>
// CHECK-NEXT: %[[SCALED:.*]] = onnx.Mul %[[MEAN]], %[[ALPHA]]
// CHECK-NEXT: %[[BIAS:.*]] = onnx.Constant dense<2.000000e+00>
// CHECK-NEXT: %[[BASE:.*]] = onnx.Add %[[SCALED]], %[[BIAS]]
// CHECK-NEXT: %[[BETA:.*]] = onnx.Constant dense<5.000000e-01>
// CHECK-NEXT: %[[DIVISOR:.*]] = onnx.Pow %[[BASE]], %[[BETA]]
// CHECK-NEXT: %[[Y:.*]] = onnx.Div %[[X]], %[[DIVISOR]]
// CHECK-NEXT: return %[[Y]]
func.func @lrn(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = onnx.LRN %x {size = 4 : i64, alpha = 0.25 : f32, bias = 2.0 : f32, beta = 0.5 : f32} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// The loss sums what does not count for nothing; log-probabilities are a result of their own.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[T:.*]]: tensor<4xi64>, %[[W:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[LOSSES:.*]], %{{.*}} = train.nll %[[X]], %[[T]], %[[W]] {ignore_index = -1 : i64}
// CHECK-NEXT: %[[SUM:.*]] = onnx.ReduceSum %[[LOSSES]] {axes = array<i64: 0>}
// CHECK-NEXT: %[[LOG:.*]] = onnx.LogSoftmax %[[X]] {axis = 1 : i64}
// CHECK-NEXT: return %[[SUM]], %[[LOG]]
func.func @loss(%x: tensor<4x8xf32>, %t: tensor<4xi64>, %w: tensor<8xf32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %0:2 = onnx.SoftmaxCrossEntropyLoss %x, %t, %w {reduction = "sum", ignore_index = -1 : i64, with_log_prob = true}
      : (tensor<4x8xf32>, tensor<4xi64>, tensor<8xf32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<4x8xf32>
}

// Each item for itself, of log-probabilities: no sum, no softmax.
// CHECK-LABEL: func.func @items(
// CHECK-NEXT: %[[LOSSES:.*]], %{{.*}} = train.nll %{{.*}}, %{{.*}} {softmax = false}
// CHECK-NEXT: return %[[LOSSES]]
func.func @items(%x: tensor<4x8xf32>, %t: tensor<4xi64>) -> tensor<4xf32> {
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t {reduction = "none"} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
