#update = #kedge.place<update "", "w">
module attributes {dist.mesh = #dist.mesh<["data", "tensor"] = [2, 2]>} {
  train.state parameter @w tensor<4x6xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
  func.func @step(%w: tensor<4x6xf32> {train.binding = #train.binding<state @w>}) -> (tensor<12xf32> {train.binding = #train.binding<output "y">})
      attributes {train.kind = #train.kind<step>} {
    %part = dist.reduce_scatter %w {kedge.place = #update, ranks = 2 : i64} : (tensor<4x6xf32>) -> tensor<12xf32>
    %y = onnx.Relu %part {kedge.place = #update} : (tensor<12xf32>) -> tensor<12xf32>
    return %y : tensor<12xf32>
  }
}
