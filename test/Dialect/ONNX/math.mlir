// RUN: kedge-opt %s | kedge-opt | FileCheck %s

// CHECK-LABEL: @broadcast
func.func @broadcast(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: onnx.Add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = onnx.Add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// A rank-0 float does not widen a 16-bit tensor.
// CHECK-LABEL: @scalar
func.func @scalar(%a: tensor<2xbf16>, %s: tensor<f32>) -> tensor<2xbf16> {
  // CHECK: onnx.Mul %{{.*}} -> tensor<2xbf16>
  %0 = onnx.Mul %a, %s : (tensor<2xbf16>, tensor<f32>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: @pow_keeps_the_base_type
func.func @pow_keeps_the_base_type(%a: tensor<2xi32>, %b: tensor<f32>) -> tensor<2xi32> {
  // CHECK: onnx.Pow %{{.*}} : (tensor<2xi32>, tensor<f32>) -> tensor<2xi32>
  %0 = onnx.Pow %a, %b : (tensor<2xi32>, tensor<f32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// CHECK-LABEL: @comparisons
func.func @comparisons(%a: tensor<2x1xui8>, %b: tensor<3xui8>) -> (tensor<2x3xi1>, tensor<2x3xui8>) {
  // CHECK: onnx.Less %{{.*}} -> tensor<2x3xi1>
  %0 = onnx.Less %a, %b : (tensor<2x1xui8>, tensor<3xui8>) -> tensor<2x3xi1>
  // CHECK: onnx.Where %{{.*}} -> tensor<2x3xui8>
  %1 = onnx.Where %0, %a, %b : (tensor<2x3xi1>, tensor<2x1xui8>, tensor<3xui8>) -> tensor<2x3xui8>
  return %0, %1 : tensor<2x3xi1>, tensor<2x3xui8>
}

// CHECK-LABEL: @clip_without_lower_bound
func.func @clip_without_lower_bound(%x: tensor<4xf32>, %high: tensor<f32>) -> tensor<4xf32> {
  // CHECK: onnx.Clip %{{.*}}, %{{.*}} {operandSegmentSizes = array<i32: 1, 0, 1>}
  %0 = onnx.Clip %x, %high {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<4x8xf32>, %n: tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  // CHECK: onnx.Dropout %{{.*}} {op_id = 7 : i64, ratio = 1.000000e-01 : f32, training_mode = true}
  %0 = onnx.Dropout %x {op_id = 7 : i64, ratio = 0.1 : f32, training_mode = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: train.dropout {{.*}}with_mask = true{{.*}} -> (tensor<4x8xf32>, tensor<4x8xi1>)
  %1:2 = train.dropout %0, %n, %n, %n {op_id = 7 : i64, ratio = 0.1 : f32, with_mask = true}
      : (tensor<4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xi1>)
  return %1#0, %1#1 : tensor<4x8xf32>, tensor<4x8xi1>
}
