// RUN: kedge-opt %s --kedge-assign-stages | FileCheck %s --check-prefix=TIME
// RUN: kedge-opt %s --kedge-assign-stages="room=80 micro-batches=4" | FileCheck %s --check-prefix=ROOM

// Two stages of two ops take equal time. The states of the first two ops take 96 bytes; the last three ops have 48, 16 are kept of what they make, and 16 enter.
// TIME: onnx.Mul {{.*}}dist.pipeline_stage = 0
// TIME: onnx.Mul {{.*}}dist.pipeline_stage = 0
// TIME: onnx.Mul {{.*}}dist.pipeline_stage = 1
// TIME: onnx.Mul {{.*}}dist.pipeline_stage = 1
// ROOM: onnx.Mul {{.*}}dist.pipeline_stage = 0
// ROOM: onnx.Mul {{.*}}dist.pipeline_stage = 1
// ROOM: onnx.Mul {{.*}}dist.pipeline_stage = 1
// ROOM: onnx.Mul {{.*}}dist.pipeline_stage = 1
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  train.state parameter @w tensor<4xf32>
  train.state moment1 @m tensor<16xf32> {of = @w}
  train.state parameter @v tensor<4xf32>
  train.state parameter @u tensor<4xf32>
  train.state parameter @t tensor<4xf32>
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>},
                   %v: tensor<4xf32> {train.binding = #train.binding<state @v>}, %u: tensor<4xf32> {train.binding = #train.binding<state @u>},
                   %t: tensor<4xf32> {train.binding = #train.binding<state @t>}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Mul %x, %w {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %v {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = onnx.Mul %b, %u {kedge.place = #kedge.place<forward "c", "c">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = onnx.Mul %c, %t {kedge.place = #kedge.place<forward "d", "d">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
