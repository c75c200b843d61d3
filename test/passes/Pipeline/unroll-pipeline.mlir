// RUN: kedge-opt %s --kedge-assign-stages --kedge-unroll-pipeline="micro-batches=2" | FileCheck %s --check-prefix=FIRST
// RUN: kedge-opt %s --kedge-assign-stages --kedge-unroll-pipeline="micro-batches=2 stage=1" | FileCheck %s --check-prefix=SECOND
// RUN: not kedge-opt %s --kedge-unroll-pipeline="stage=2" 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not kedge-opt %s --kedge-unroll-pipeline="schedule=wave" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not kedge-opt %s --kedge-unroll-pipeline="micro-batches=0" 2>&1 | FileCheck %s --check-prefix=MICRO
// STAGE: has no stage 2: expected one from 0 to 1
// SCHEDULE: unknown schedule 'wave' of a pipeline: expected gpipe, 1f1b, interleaved=V with V of 2 or more, or zero-bubble
// MICRO: has 0 micro-batches a step, expected 1 or more

// A rank has the states of its stage alone, knows of the others, and has rows of all micro-batches.
// FIRST: train.state parameter @w tensor<0xf32> {sharding = #dist.sharding<[4] on[1] from 0>}
// FIRST: func.func @step(%{{.*}}: tensor<8xf32>
// FIRST: dist.send {{.*}}number = 0 : i64, peer = 1
// FIRST: dist.send {{.*}}number = 1 : i64, peer = 1
// Evaluation passes each micro-batch on; losses are on the last stage, outputs on the first.
// FIRST: func.func @eval(%{{.*}}: tensor<8xf32>
// FIRST-SAME: -> (tensor<4xf32> {train.binding = #train.binding<output "y" part 0 of tensor<8xf32>>}, tensor<4xf32> {train.binding = #train.binding<output "y" part 4 of tensor<8xf32>>}
// FIRST: dist.send {{.*}}number = 0 : i64, peer = 1
// FIRST: dist.send {{.*}}number = 1 : i64, peer = 1
// FIRST: dist.receive {{.*}}number = 2 : i64, peer = 1
// FIRST: dist.receive {{.*}}number = 3 : i64, peer = 1
// SECOND: train.state parameter @w tensor<4xf32> {sharding = #dist.sharding<[4] on[1] from 1>}
// SECOND: func.func @step(%{{.*}}: tensor<8xf32>
// SECOND: dist.receive {{.*}}number = 0 : i64, peer = 0
// SECOND: onnx.Mul
// SECOND: dist.receive {{.*}}number = 1 : i64, peer = 0
// SECOND: onnx.Mul
// SECOND: %[[SUM:.*]] = onnx.Add
// SECOND: return %[[SUM]]
// SECOND: func.func @eval(%{{.*}}: tensor<8xf32>
// SECOND-SAME: -> (tensor<8xf32> {train.binding = #train.binding<result "loss_rows">}
// SECOND: dist.receive {{.*}}number = 0 : i64, peer = 0
// SECOND: dist.receive {{.*}}number = 1 : i64, peer = 0
// SECOND: dist.send {{.*}}number = 2 : i64, peer = 0
// SECOND: dist.send {{.*}}number = 3 : i64, peer = 0
// SECOND: onnx.Concat
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  train.state parameter @w tensor<4xf32>
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<result "items">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %w {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
  func.func @eval(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}, tensor<4xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<eval>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Mul %a, %w {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b, %b : tensor<4xf32>, tensor<4xf32>
  }
}
