// RUN: not kedge-opt %s --kedge-add-loss="logits=n kind=mse" 2>&1 | FileCheck %s
// RUN: not kedge-opt %s --kedge-add-loss="logits=n" 2>&1 | FileCheck %s
// CHECK: error: the logits are 'tensor<3x5xi64>', expected floats: name another output (--logits NAME)
func.func @model(%x: tensor<3x5xi64> {train.binding = #train.binding<input "x">})
    -> (tensor<3x5xi64> {train.binding = #train.binding<output "n">}) attributes {train.kind = #train.kind<model>} {
  return %x : tensor<3x5xi64>
}
