// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-assign-stages | FileCheck %s

// CHECK: train.state parameter @w {{.*}}dist.pipeline_stage = 1
// CHECK: onnx.Exp {{.*}}dist.pipeline_stage = 0
// CHECK: onnx.Mul {{.*}}dist.pipeline_stage = 1
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  train.state parameter @w tensor<4xf32>
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %w {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{has no @micro to cut into stages: a pipeline needs micro-batches}}
module {
}

// -----

module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  // expected-error@+1 {{stage 1 of 2 has nothing to compute; give fewer stages or other --stage}}
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
