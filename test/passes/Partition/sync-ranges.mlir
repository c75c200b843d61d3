// RUN: kedge-opt %s --kedge-sync-ranges --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
  // CHECK-LABEL: func.func @step
  // CHECK: %[[NEGATIVE:.*]] = onnx.Neg %arg0
  // CHECK: %[[LARGEST:.*]] = dist.all_reduce %[[NEGATIVE]] {kind = "max", ranks = 2 : i64}
  // CHECK: %[[LEAST:.*]] = onnx.Neg %[[LARGEST]]
  // CHECK: %[[MOST:.*]] = dist.all_reduce %arg1 {kind = "max", ranks = 2 : i64}
  // CHECK: train.moving_range %[[LEAST]], %[[MOST]], %arg2, %arg3
  func.func @step(%lo: tensor<f32>, %hi: tensor<f32>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {train.kind = #train.kind<step>} {
    %min, %max = train.moving_range %lo, %hi, %a, %b {averaging = 0.5 : f32} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %min, %max : tensor<f32>, tensor<f32>
  }
}
// STATISTICS: 1 kedge-sync-ranges ranges
