// RUN: kedge-opt %s --verify-diagnostics --kedge-assign-stages=stages=a=1,b=0
// RUN: not kedge-opt %s --kedge-assign-stages=stages=a=2 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not kedge-opt %s --kedge-assign-stages=stages=[=1 2>&1 | FileCheck %s --check-prefix=REGEX
// RANGE: stage 'a=2': expected REGEX=K with a stage K from 0 to 1
// REGEX: for the --stages option: '[=1': not a regular expression:
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{is of stage 0, but reads a value of stage 1 (a): values go to later stages only; give its module a later stage}}
    %b = onnx.Exp %a {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
