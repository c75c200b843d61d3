// RUN: kedge-opt %s --kedge-localize --canonicalize | FileCheck %s

// 5 columns on 2 ranks are 3 and 2: what is summed over them has zeros as padding, and what is read as a whole none of it. Zeros of a weight
// make zeros in a product, but not behind a sigmoid.
#forward = #kedge.place<forward "", "y">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  // CHECK: train.state parameter @up tensor<4x3xf32> {sharding = #dist.sharding<[4, 5] cut[<1 over "tensor" = 2 unit 3>]>}
  train.state parameter @up tensor<4x5xf32> {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>}
  // CHECK: train.state parameter @bias tensor<3xf32>
  train.state parameter @bias tensor<5xf32> {dist.cut = #dist.cut<0 over "tensor" = 2 unit 3>}
  // CHECK-LABEL: func.func @step
  func.func @step(%x: tensor<7x4xf32> {train.binding = #train.binding<input "x">},
      %up: tensor<4x5xf32> {train.binding = #train.binding<state @up>})
      -> (tensor<f32> {train.binding = #train.binding<output "z">}, tensor<f32> {train.binding = #train.binding<output "s">}, tensor<7x5xf32> {train.binding = #train.binding<output "a">})
      attributes {train.kind = #train.kind<step>} {
    // CHECK: %[[A:.*]] = onnx.MatMul {{.*}} -> tensor<7x3xf32>
    %a = onnx.MatMul %x, %up {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x4xf32>, tensor<4x5xf32>) -> tensor<7x5xf32>
    // CHECK: onnx.ReduceSum %[[A]] {{.*}}(tensor<7x3xf32>)
    %z = onnx.ReduceSum %a {axes = array<i64: 0, 1>, dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x5xf32>) -> tensor<f32>
    // CHECK: %[[B:.*]] = onnx.Sigmoid %[[A]]
    %b = onnx.Sigmoid %a {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x5xf32>) -> tensor<7x5xf32>
    // CHECK: %[[REAL:.*]] = dist.local_shard %{{.*}} -> tensor<3xi1>
    // CHECK: %[[ZEROS:.*]] = onnx.Where %[[REAL]], %[[B]]
    // CHECK: onnx.ReduceSum %[[ZEROS]]
    %s = onnx.ReduceSum %b {axes = array<i64: 0, 1>, dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x5xf32>) -> tensor<f32>
    // CHECK: onnx.Slice %{{.*}} : (tensor<7x6x1xf32>) -> tensor<7x5x1xf32>
    return %z, %s, %a : tensor<f32>, tensor<f32>, tensor<7x5xf32>
  }
  // Nor where a product adds what is not zero there.
  // CHECK-LABEL: func.func @biased
  func.func @biased(%x: tensor<7x4xf32> {train.binding = #train.binding<input "x">},
      %up: tensor<4x5xf32> {train.binding = #train.binding<state @up>}, %bias: tensor<5xf32> {train.binding = #train.binding<state @bias>})
      -> (tensor<f32> {train.binding = #train.binding<output "s">}) {
    %c = onnx.Sigmoid %bias {dist.cut = #dist.cut<0 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<5xf32>) -> tensor<5xf32>
    // CHECK: %[[G:.*]] = onnx.Gemm
    %g = onnx.Gemm %x, %up, %c {dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<7x5xf32>
    // CHECK: %[[ZEROS:.*]] = onnx.Where %{{.*}}, %[[G]]
    // CHECK: onnx.ReduceSum %[[ZEROS]]
    %s = onnx.ReduceSum %g {axes = array<i64: 0, 1>, dist.cut = #dist.cut<1 over "tensor" = 2 unit 3>, kedge.place = #forward} : (tensor<7x5xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}
