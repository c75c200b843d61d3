// RUN: kedge-opt %s --kedge-assign-stages="chunks=2 device=h100" | FileCheck %s --check-prefix=STAGES
// RUN: kedge-opt %s --kedge-assign-stages="chunks=2 device=h100" --kedge-unroll-pipeline="micro-batches=2 schedule=interleaved=2 device=h100" | FileCheck %s

// Four stages on two ranks: each rank has every second one.
// STAGES: onnx.Exp {{.*}}dist.pipeline_stage = 0
// STAGES: onnx.Exp {{.*}}dist.pipeline_stage = 1
// STAGES: onnx.Exp {{.*}}dist.pipeline_stage = 2
// STAGES: onnx.Exp {{.*}}dist.pipeline_stage = 3

// The first rank goes on with a micro-batch when the other rank sends it back.
// CHECK: onnx.Exp {{.*}}#forward_a}
// CHECK: dist.send {{.*}}number = 0 : i64, peer = 1
// CHECK: onnx.Exp {{.*}}#forward_a}
// CHECK: dist.send {{.*}}peer = 1
// CHECK: dist.receive {{.*}}peer = 1
// CHECK: onnx.Exp {{.*}}#forward_c}
// CHECK-NOT: onnx.Exp {{.*}}#forward_{{[bd]}}
module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<result "items">}) attributes {train.kind = #train.kind<micro>} {
    %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Exp %a {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>) -> tensor<4xf32>
    %c = onnx.Exp %b {kedge.place = #kedge.place<forward "c", "c">} : (tensor<4xf32>) -> tensor<4xf32>
    %d = onnx.Exp %c {kedge.place = #kedge.place<forward "d", "d">} : (tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}
