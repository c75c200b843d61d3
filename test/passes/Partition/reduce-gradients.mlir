// RUN: kedge-opt %s --kedge-reduce-gradients="ranks=4 bucket-bytes=16" | FileCheck %s
// RUN: kedge-opt %s --kedge-reduce-gradients="ranks=4" | FileCheck %s --check-prefix=ONE
// RUN: kedge-opt %s --kedge-reduce-gradients | FileCheck %s --check-prefix=ALONE
// RUN: not kedge-opt %s --kedge-reduce-gradients=ranks=0 2>&1 | FileCheck %s --check-prefix=RANKS

// Buckets in the order in which gradients are made, each behind its last one; a scalar is reduced by itself.
// CHECK: dist.mesh = #dist.mesh<["data"] = [4]>
// CHECK-LABEL: func.func @step
// CHECK: %[[B:.*]] = onnx.Mul
// CHECK: %[[PART:.*]] = dist.reduce_scatter %[[B]] {{.*}} : (tensor<6xf32>) -> tensor<2xf32>
// CHECK: %[[B2:.*]] = dist.all_gather %[[PART]] {{.*}} : (tensor<2xf32>) -> tensor<6xf32>
// CHECK: %[[S:.*]] = onnx.ReduceSum
// CHECK: %[[S2:.*]] = dist.all_reduce %[[S]] {{.*}}kind = "sum"
// CHECK: %[[A:.*]] = onnx.Neg
// CHECK: dist.reduce_scatter %[[A]]
// CHECK: %[[A2:.*]] = dist.all_gather {{.*}} -> tensor<3xf32>
// CHECK: return %[[A2]], %[[B2]], %[[S2]]

// ONE: %[[PARTS:.*]]:2 = dist.reduce_scatter %{{.*}}, %{{.*}} {{.*}} : (tensor<6xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<1xf32>)
// ONE-NOT: dist.reduce_scatter
// ALONE-NOT: dist.
// RANKS: error: ranks = 0, bucket-bytes = 26214400: expected 1 or more ranks, and bytes that are not negative
train.state parameter @a tensor<3xf32>
train.state parameter @b tensor<6xf32>
train.state parameter @s tensor<f32>
func.func @step(%x: tensor<6xf32> {train.binding = #train.binding<input "x">}, %y: tensor<3xf32> {train.binding = #train.binding<input "y">})
    -> (tensor<3xf32> {train.binding = #train.binding<gradient @a>}, tensor<6xf32> {train.binding = #train.binding<gradient @b>},
        tensor<f32> {train.binding = #train.binding<gradient @s>}) attributes {train.kind = #train.kind<step>} {
  %b = onnx.Mul %x, %x : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %s = onnx.ReduceSum %y {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  %a = onnx.Neg %y : (tensor<3xf32>) -> tensor<3xf32>
  return %a, %b, %s : tensor<3xf32>, tensor<6xf32>, tensor<f32>
}
