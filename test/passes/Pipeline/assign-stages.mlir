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

// -----

// A collective of tensors of two stages is one for each; what is made of a state alone is where it is read, and so is evaluation.
// CHECK: train.state parameter @v {{.*}}dist.pipeline_stage = 0
// CHECK: train.state parameter @w {{.*}}dist.pipeline_stage = 1
// CHECK: func.func @micro
// CHECK: onnx.Neg {{.*}}dist.pipeline_stage = 1
// CHECK: func.func @update
// CHECK: dist.all_reduce %{{[a-z0-9]+}} {{.*}}dist.pipeline_stage = 0
// CHECK: dist.all_reduce %{{[a-z0-9]+}} {{.*}}dist.pipeline_stage = 1
// CHECK: func.func @eval
// CHECK: onnx.Mul {{.*}}dist.pipeline_stage = 0
// CHECK: onnx.Mul {{.*}}dist.pipeline_stage = 1
module attributes {dist.mesh = #dist.mesh<["pipeline", "data"] = [2, 2]>} {
  train.state parameter @v tensor<4xf32>
  train.state parameter @w tensor<4xf32>
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %v: tensor<4xf32> {train.binding = #train.binding<state @v>}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %n = onnx.Neg %w {kedge.place = #kedge.place<forward "b", "n">} : (tensor<4xf32>) -> tensor<4xf32>
    %a = onnx.Mul %x, %v {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %n {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
  func.func @update(%v: tensor<4xf32> {train.binding = #train.binding<state @v>}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<state @v>}, tensor<4xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<update>} {
    %sums:2 = dist.all_reduce %v, %w {kind = "sum", ranks = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %sums#0, %sums#1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @eval(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %v: tensor<4xf32> {train.binding = #train.binding<state @v>}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<eval>} {
    %a = onnx.Mul %x, %v {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %w {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// The cast of an input is where it is read first: the place that it shares with a product is that of the product's stage.
// CHECK: func.func @micro
// CHECK: onnx.Cast {{.*}}dist.pipeline_stage = 1
// CHECK: onnx.Exp {{.*}}dist.pipeline_stage = 0
// CHECK: onnx.Mul {{.*}}dist.pipeline_stage = 1
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %t: tensor<4xf64> {train.binding = #train.binding<input "t">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %c = onnx.Cast %t {kedge.place = #kedge.place<forward "b", "b">, to = f32} : (tensor<4xf64>) -> tensor<4xf32>
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %c {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}
