// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-group-norm))' | FileCheck %s

// What exporters below opset 21 write for torch.nn.GroupNorm(3, 6).
// CHECK-LABEL: @group
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = onnx.GroupNormalization %arg0, %{{.*}}, %{{.*}} {num_groups = 3 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @group(%x: tensor<2x6x4x5xf32>, %w: tensor<6x1x1xf32>, %b: tensor<6x1x1xf32>) -> tensor<2x6x4x5xf32> {
  %one = onnx.Constant dense<1.0> : tensor<3xf32>
  %zero = onnx.Constant dense<0.0> : tensor<3xf32>
  %0 = onnx.Reshape %x {shape = array<i64: 2, 3, 40>} : (tensor<2x6x4x5xf32>) -> tensor<2x3x40xf32>
  %1:3 = onnx.InstanceNormalization %0, %one, %zero : (tensor<2x3x40xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x40xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %2 = onnx.Reshape %1#0 {shape = array<i64: 2, 6, 4, 5>} : (tensor<2x3x40xf32>) -> tensor<2x6x4x5xf32>
  %3 = onnx.Mul %2, %w : (tensor<2x6x4x5xf32>, tensor<6x1x1xf32>) -> tensor<2x6x4x5xf32>
  %4 = onnx.Add %3, %b : (tensor<2x6x4x5xf32>, tensor<6x1x1xf32>) -> tensor<2x6x4x5xf32>
  return %4 : tensor<2x6x4x5xf32>
}
