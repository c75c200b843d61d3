// RUN: kedge-opt %s --kedge-localize --canonicalize | FileCheck %s
// RUN: kedge-opt %s --kedge-localize --kedge-statistics 2> %t.err
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err

#forward = #kedge.place<forward "", "y">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  // CHECK: train.state parameter @down tensor<3x4xf32> {sharding = #dist.sharding<[6, 4] cut[<0 over "tensor" = 2>]>}
  train.state parameter @down tensor<6x4xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  train.state parameter @bias tensor<4xf32>
  // The bias is added once, behind the sum over ranks; the other operand, which is whole, is cut by each rank for itself.
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[DOWN:[a-z0-9]+]]: tensor<3x4xf32>
  func.func @step(%x: tensor<5x6xf32> {train.binding = #train.binding<input "x">},
      %down: tensor<6x4xf32> {train.binding = #train.binding<state @down>},
      %bias: tensor<4xf32> {train.binding = #train.binding<state @bias>})
      -> (tensor<5x4xf32> {train.binding = #train.binding<output "y">}, tensor<6x4xf32> {train.binding = #train.binding<output "w">})
      attributes {train.kind = #train.kind<step>} {
    // CHECK: dist.local_shard
    // CHECK: %[[PART:.*]] = onnx.Gemm %{{.*}}, %[[DOWN]] {{.*}} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
    // CHECK: %[[SUM:.*]] = dist.all_reduce %[[PART]] {{{.*}}axis = "tensor"{{.*}}kind = "sum"
    // CHECK: %[[Y:.*]] = onnx.Add %[[SUM]], %{{.*}} : (tensor<5x4xf32>, tensor<4xf32>)
    %y = onnx.Gemm %x, %down, %bias {dist.cut = #dist.cut<2 over "tensor" = 2>, kedge.place = #forward} : (tensor<5x6xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
    // A result that is read as a whole is gathered.
    // CHECK: dist.all_gather %{{.*}} {axis = "tensor"
    return %y, %down : tensor<5x4xf32>, tensor<6x4xf32>
  }
}
// STATISTICS: 128  kedge-localize  bytes sent
// STATISTICS: 2  kedge-localize  collectives
// STATISTICS: 1  kedge-localize  ops on blocks

// What cannot be done with a part of a part is refused.
// RUN: not kedge-opt %S/Inputs/parts.mlir --kedge-localize 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: 'onnx.Relu' op reads flat parts along another axis of a gradient that 'tensor' cuts: not available yet; expected a sum of squares, or a maximum
