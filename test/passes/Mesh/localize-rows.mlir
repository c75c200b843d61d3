// RUN: kedge-opt %s --kedge-localize --canonicalize | FileCheck %s
// RUN: kedge-opt %s --kedge-localize --kedge-statistics 2> %t.err
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err

#back = #kedge.place<backward "", "x">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  train.state parameter @q tensor<4x6xbf16> {dist.cut = #dist.cut<1 over "tensor" = 2>}
  train.state parameter @k tensor<4x6xbf16> {dist.cut = #dist.cut<1 over "tensor" = 2>}
  // Two sums over ranks that are but added to each other are one. 16-bit products stay wide until all their parts are added; each
  // rank has its rows of the sum, which are rounded once.
  // CHECK-LABEL: func.func @step
  func.func @step(%dq: tensor<8x6xbf16> {train.binding = #train.binding<input "dq">}, %dk: tensor<8x6xbf16> {train.binding = #train.binding<input "dk">},
      %q: tensor<4x6xbf16> {train.binding = #train.binding<state @q>}, %k: tensor<4x6xbf16> {train.binding = #train.binding<state @k>})
      -> (tensor<8x4xbf16> {train.binding = #train.binding<output "dx">}) attributes {train.kind = #train.kind<step>} {
    // CHECK: %[[A:.*]] = onnx.Gemm {{.*}}wide = true{{.*}} -> tensor<8x4xf32>
    %a = onnx.MatMul %dq, %q {dist.cut = #dist.cut<2 over "tensor" = 2>, dist.scatter = #dist.cut<0 over "tensor" = 2>, kedge.place = #back, transB = true} : (tensor<8x6xbf16>, tensor<4x6xbf16>) -> tensor<8x4xbf16>
    // CHECK: %[[B:.*]] = onnx.Gemm {{.*}}wide = true{{.*}} -> tensor<8x4xf32>
    %b = onnx.MatMul %dk, %k {dist.cut = #dist.cut<2 over "tensor" = 2>, dist.scatter = #dist.cut<0 over "tensor" = 2>, kedge.place = #back, transB = true} : (tensor<8x6xbf16>, tensor<4x6xbf16>) -> tensor<8x4xbf16>
    // CHECK: %[[BOTH:.*]] = onnx.Add %[[A]], %[[B]]
    // CHECK: dist.reduce_scatter {{.*}} -> tensor<16xf32>
    // CHECK-NOT: dist.reduce_scatter
    // CHECK: onnx.Cast {{.*}} -> tensor<4x4xbf16>
    %c = onnx.Add %a, %b {dist.cut = #dist.cut<0 over "tensor" = 2>, kedge.place = #back} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
    // CHECK: dist.all_gather
    return %c : tensor<8x4xbf16>
  }
}
// STATISTICS: 2  kedge-localize  collectives
// STATISTICS: 1  kedge-localize  sums joined
