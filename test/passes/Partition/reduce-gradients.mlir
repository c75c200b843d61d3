// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=4 --kedge-reduce-gradients="bucket-bytes=16" | FileCheck %s
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=4 --kedge-reduce-gradients | FileCheck %s --check-prefix=ONE
// RUN: kedge-opt %s --kedge-reduce-gradients | FileCheck %s --check-prefix=ALONE
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2,data=4 --kedge-reduce-gradients | FileCheck %s --check-prefix=BOTH
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2 --kedge-reduce-gradients | FileCheck %s --check-prefix=COPIES
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2,data=4 --kedge-reduce-gradients=over=data | FileCheck %s --check-prefix=DATA
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2,data=4 --kedge-reduce-gradients=over=replica | FileCheck %s --check-prefix=REPLICA
// RUN: not kedge-opt %s --kedge-reduce-gradients=bucket-bytes=-1 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not kedge-opt %s --kedge-reduce-gradients=over=tensor 2>&1 | FileCheck %s --check-prefix=OVER

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
// BYTES: error: bucket-bytes = -1: expected bytes that are not negative
// OVER: error: over = tensor: expected all, data or replica

// Parts of the sums over data are summed over replica, and gathered in turn; a scalar goes to all at once.
// BOTH: dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>
// BOTH: dist.all_reduce %{{.*}} {axis = "replica,data", {{.*}}kind = "sum", ranks = 8 : i64}
// BOTH: %[[P:.*]]:2 = dist.reduce_scatter %{{.*}}, %{{.*}} {{{[^,]*}}, ranks = 4 : i64} : (tensor<6xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<1xf32>)
// BOTH: %[[Q:.*]]:2 = dist.reduce_scatter %[[P]]#0, %[[P]]#1 {axis = "replica", {{.*}}ranks = 2 : i64} {{.*}} -> (tensor<1xf32>, tensor<1xf32>)
// BOTH: %[[R:.*]]:2 = dist.all_gather %[[Q]]#0, %[[Q]]#1 {axis = "replica", {{.*}}ranks = 2 : i64} {{.*}} -> (tensor<2xf32>, tensor<1xf32>)
// BOTH: dist.all_gather %[[R]]#0, %[[R]]#1 {{{[^,]*}}, ranks = 4 : i64} {{.*}} -> (tensor<6xf32>, tensor<3xf32>)
// COPIES: dist.all_reduce %{{.*}} {axis = "replica", {{.*}}ranks = 2 : i64}
// COPIES: dist.reduce_scatter %{{.*}} {axis = "replica", {{.*}}ranks = 2 : i64} : (tensor<6xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>)
// COPIES: dist.all_gather %{{.*}} {axis = "replica"
// COPIES-NOT: dist.
// DATA-NOT: "replica"{{.*}}ranks = 2
// DATA: dist.all_reduce %{{.*}} {{{.*}}ranks = 4 : i64}
// DATA: dist.reduce_scatter
// Sums over data are there: a rank takes its part of them.
// REPLICA: dist.all_reduce %{{.*}} {axis = "replica"
// REPLICA: dist.local_shard {{.*}} : (tensor<6xf32>) -> tensor<2xf32>
// REPLICA: dist.local_shard {{.*}} : (tensor<3xf32>) -> tensor<1xf32>
// REPLICA: dist.reduce_scatter %{{.*}} {axis = "replica"
// REPLICA: dist.all_gather %{{.*}} {axis = "replica"
// REPLICA: dist.all_gather %{{.*}} {{{[^,]*}}, ranks = 4 : i64}
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
