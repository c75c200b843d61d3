// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=2 --kedge-sync-batch-norm --kedge-differentiate | FileCheck %s
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2 --kedge-sync-batch-norm --kedge-differentiate | FileCheck %s
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2,data=2 --kedge-sync-batch-norm --kedge-differentiate | FileCheck %s --check-prefix=MESH
// RUN: kedge-opt %s --kedge-sync-batch-norm | FileCheck %s --check-prefix=ALONE
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=2 --kedge-sync-batch-norm="over-ranks=false micro-batches=4" --kedge-differentiate | FileCheck %s --check-prefix=MICROS
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=2 --kedge-sync-batch-norm="micro-batches=4" | FileCheck %s --check-prefix=BOTH

// Mean and variance over 2 x 4 values a channel; the running variance is unbiased (8/7). Gradients pass through the sums.
// ALONE: train.batch_norm
// MICROS-NOT: dist.all_reduce
// MICROS: %[[SUM:.*]] = onnx.ReduceSum
// MICROS: train.sum_micros %[[SUM]]
// MICROS: onnx.Constant dense<6.250000e-02>
// MICROS-COUNT-3: train.sum_micros
// BOTH: %[[OWN:.*]] = train.sum_micros
// BOTH: dist.all_reduce %[[OWN]] {{.*}}ranks = 2
// BOTH: onnx.Constant dense<3.125000e-02>
// Gradients of sums go along the axes of the sums.
// MESH-COUNT-4: dist.all_reduce %{{.*}} {axis = "replica,data", {{.*}}ranks = 4 : i64}
// CHECK-LABEL: func.func @step
// CHECK-NOT: train.batch_norm
// CHECK: %[[SUM:.*]] = onnx.ReduceSum {{.*}}axes = array<i64: 0, 2>{{.*}} -> tensor<3xf32>
// CHECK: %[[ALL:.*]] = dist.all_reduce %[[SUM]] {{.*}}kind = "sum"
// CHECK: onnx.Constant dense<1.250000e-01>
// CHECK: %[[MEAN:.*]] = onnx.Mul %[[ALL]]
// CHECK: onnx.Reshape %[[MEAN]] {{.*}}shape = array<i64: 1, 3, 1>
// CHECK: dist.all_reduce
// CHECK: onnx.Sqrt
// CHECK: onnx.Cast {{.*}} -> tensor<2x3x2xbf16>
// CHECK: onnx.Constant dense<0.114285745>
// CHECK-COUNT-2: dist.all_reduce
train.state parameter @w tensor<3xf32>
func.func @step(%x: tensor<2x3x2xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>},
                %v: tensor<3xf32>)
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<3xf32>) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  %wx = onnx.Reshape %w {shape = array<i64: 1, 3, 1>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
  %wb = onnx.Cast %wx {to = bf16} : (tensor<1x3x1xf32>) -> tensor<1x3x1xbf16>
  %h = onnx.Mul %x, %wb : (tensor<2x3x2xbf16>, tensor<1x3x1xbf16>) -> tensor<2x3x2xbf16>
  %y:5 = train.batch_norm %h, %w, %w, %v, %v {unbiased = true}
      : (tensor<2x3x2xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x2xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %f = onnx.Cast %y#0 {to = f32} : (tensor<2x3x2xbf16>) -> tensor<2x3x2xf32>
  %loss = onnx.ReduceSum %f {axes = array<i64: 0, 1, 2>} : (tensor<2x3x2xf32>) -> tensor<f32>
  return %loss, %y#2 : tensor<f32>, tensor<3xf32>
}
