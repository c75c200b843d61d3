// Gradients: ONNX has no operators for them.
func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %a: tensor<2x4xf32> {train.binding = #train.binding<input "a">}) -> (tensor<2x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  %0 = train.rotary %x, %x, %a, %a {inverse = true} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1:2 = train.swiglu_grad %0, %x, %a : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return %1#0 : tensor<2x4xf32>
}
