// RUN: kedge-opt %s --kedge-count-experts --kedge-statistics 2>&1 | FileCheck %s
// RUN: sed 's/kind<step>/kind<eval>/; s/@step/@eval/' %s | kedge-opt --kedge-count-experts | FileCheck %s --check-prefix=EVAL

// One result for each choice of experts, whoever reads it, and none of the backward pass.
// CHECK: train.binding = #train.binding<result "experts.mlp">}, tensor<4xi64> {train.binding = #train.binding<result "experts.mlp.1">})
// CHECK: %[[COLUMN:.*]] = onnx.Reshape %{{.*}} {{.*}} : (tensor<6x2xi64>) -> tensor<12x1xi64>
// CHECK: %[[FROM0:.*]] = onnx.Mod %[[COLUMN]]
// CHECK: %[[IS:.*]] = onnx.Equal %[[FROM0]], {{.*}} -> tensor<12x4xi1>
// CHECK: onnx.ReduceSum {{.*}} : (tensor<12x4xi64>) -> tensor<4xi64>
// CHECK: 2 kedge-count-experts layers
// EVAL-NOT: onnx.ReduceSum

func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x2xi64> {train.binding = #train.binding<input "e">},
                %f: tensor<6x1xi32> {train.binding = #train.binding<input "f">}, %w: tensor<4x3x3xf32> {train.binding = #train.binding<input "w">})
    -> (tensor<6x2x3xf32> {train.binding = #train.binding<output "y">}, tensor<6x1x3xf32> {train.binding = #train.binding<output "z">})
    attributes {train.kind = #train.kind<step>} {
  %y = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<forward "mlp", "y">} : (tensor<6x3xf32>, tensor<6x2xi64>, tensor<4x3x3xf32>) -> tensor<6x2x3xf32>
  %again = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<backward "mlp", "y">, transB = true} : (tensor<6x3xf32>, tensor<6x2xi64>, tensor<4x3x3xf32>) -> tensor<6x2x3xf32>
  %sum = onnx.Add %y, %again {kedge.place = #kedge.place<forward "mlp", "s">} : (tensor<6x2x3xf32>, tensor<6x2x3xf32>) -> tensor<6x2x3xf32>
  %z = train.grouped_matmul %x, %f, %w {kedge.place = #kedge.place<forward "mlp", "z">} : (tensor<6x3xf32>, tensor<6x1xi32>, tensor<4x3x3xf32>) -> tensor<6x1x3xf32>
  return %sum, %z : tensor<6x2x3xf32>, tensor<6x1x3xf32>
}
