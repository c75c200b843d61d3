// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-propagate-shardings

// A dimension along which the op has no rule.
#norm = #kedge.place<forward "", "norm">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>, dist.annotations = [
    #dist.annotation<#norm reads ["x"] makes ["y"] specs [<"x" cut <1 over "tensor" = 2>>]>]} {
  func.func @step(%x: tensor<4x4xf32> {train.binding = #train.binding<input "x">})
      -> (tensor<4x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    // expected-error@+1 {{has a sharding spec that cuts 'x' along axis 1, but has no rule to compute it in parts along it; axes that it has: 0}}
    %y = onnx.Softmax %x {axis = 1 : i64, kedge.place = #norm} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}

// -----

// Two tensors that no loop of the op can both run along.
#add = #kedge.place<forward "", "add">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>, dist.annotations = [
    #dist.annotation<#add reads ["x", "z"] makes ["y"] specs [<"x" cut <1 over "tensor" = 2>>, <"z" cut <0 over "tensor" = 2>>]>]} {
  func.func @step(%x: tensor<4x4xf32> {train.binding = #train.binding<input "x">}, %z: tensor<4x4xf32> {train.binding = #train.binding<input "z">})
      -> (tensor<4x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    // expected-error@+1 {{has sharding specs that contradict each other: 'z' is cut along axis 0}}
    %y = onnx.Add %x, %z {kedge.place = #add} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}

// -----

// Heads that the ranks do not share.
#heads = #kedge.place<forward "", "heads">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>, dist.annotations = [
    #dist.annotation<#heads reads ["x"] makes ["y"] specs [<"x" cut <1 over "tensor" = 2>>]>]} {
  func.func @step(%x: tensor<4x12xf32> {train.binding = #train.binding<input "x">})
      -> (tensor<4x3x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    // expected-error@+1 {{cuts 'x' along axis 1 over 2 ranks, but has 3 units there that stay whole (such as heads), and the parts end within them; numbers of ranks that divide them are 1, 3}}
    %y = onnx.Reshape %x {kedge.place = #heads, shape = array<i64: 4, 3, 4>} : (tensor<4x12xf32>) -> tensor<4x3x4xf32>
    return %y : tensor<4x3x4xf32>
  }
}
