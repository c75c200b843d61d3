// RUN: kedge-opt %s --kedge-unroll-pipeline="micro-batches=2 stage=1 device=h100" | FileCheck %s --check-prefix=TOGETHER
// RUN: kedge-opt %s --kedge-unroll-pipeline="micro-batches=2 stage=1 schedule=zero-bubble device=h100" | FileCheck %s --check-prefix=APART

// The gradient of @w1 is made where the file has it, or after what the first stage waits for.
// TOGETHER: #[[W:.*]] = #kedge.place<backward "b", "gradient of w1">
// TOGETHER: #[[A:.*]] = #kedge.place<backward "b", "gradient of a">
// TOGETHER: module attributes {{.*}}dist.timetable = #dist.timetable<"1f1b" seconds [{{[^]]*}}] modules {{\[}}["a"], ["b"]] slots [<forward of 0 stage 0, {{.*}}<backward of
// TOGETHER-NOT: <weights
// TOGETHER: dist.receive
// TOGETHER: onnx.Mul {{.*}}#forward_b
// TOGETHER: onnx.Mul {{.*}}#[[W]]}
// TOGETHER: onnx.Mul {{.*}}#[[A]]}
// TOGETHER: dist.send
// APART: #[[A:.*]] = #kedge.place<backward "b", "gradient of a">
// APART: #[[W:.*]] = #kedge.place<backward "b", "gradient of w1">
// APART: module attributes {{.*}}dist.timetable = #dist.timetable<"zero-bubble" {{.*}}<weights of 0 stage
// APART: dist.receive
// APART: onnx.Mul {{.*}}#forward_b
// APART: onnx.Mul {{.*}}#[[A]]}
// APART: dist.send
// APART: onnx.Mul {{.*}}#[[W]]}
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  train.state parameter @w0 tensor<4xf32> {dist.pipeline_stage = 0 : i64}
  train.state parameter @w1 tensor<4xf32> {dist.pipeline_stage = 1 : i64}
  train.state accumulator @g0 tensor<4xf32> {dist.pipeline_stage = 0 : i64, of = @w0}
  train.state accumulator @g1 tensor<4xf32> {dist.pipeline_stage = 1 : i64, of = @w1}
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w0: tensor<4xf32> {train.binding = #train.binding<state @w0>}, %w1: tensor<4xf32> {train.binding = #train.binding<state @w1>}) -> (tensor<4xf32> {train.binding = #train.binding<state @g0>}, tensor<4xf32> {train.binding = #train.binding<state @g1>}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Mul %x, %w0 {dist.pipeline_stage = 0 : i64, kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %w1 {dist.pipeline_stage = 1 : i64, kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = onnx.Mul %a, %b {dist.pipeline_stage = 1 : i64, kedge.place = #kedge.place<backward "b", "gradient of w1">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = onnx.Mul %w1, %b {dist.pipeline_stage = 1 : i64, kedge.place = #kedge.place<backward "b", "gradient of a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = onnx.Mul %x, %2 {dist.pipeline_stage = 0 : i64, kedge.place = #kedge.place<backward "a", "gradient of w0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %3, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}
