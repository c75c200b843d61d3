// RUN: kedge-opt %s --split-input-file --kedge-pack-attention --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 3 kedge-pack-attention calls packed

// Two query heads share a key head; the mask keeps its place among the operands. Nothing splits or joins.
// CHECK-LABEL: func.func @both
// CHECK-NOT: onnx.Split
// CHECK: %[[A:.*]]:2 = sched.library "train.attention"(%arg0, %arg1)
// CHECK-SAME: kv_num_heads = 1 : i64, o_layout = "bthd", operands = array<i1: true, true, false>, packed = true, q_num_heads = 2 : i64
// CHECK-NEXT: %[[G:.*]] = sched.library "train.attention_grad"(%arg2, %arg0, %[[A]]#0, %[[A]]#1, %arg1)
// CHECK-SAME: operands = array<i1: true, true, true, true, true, false>, packed = true
// CHECK-SAME: -> tensor<1x2x8xbf16>
// CHECK-NOT: onnx.Concat
// CHECK: return %[[G]]
func.func @both(%x: tensor<1x2x8xbf16>, %mask: tensor<2x2xi1>, %g: tensor<1x2x2x2xbf16>) -> tensor<1x2x8xbf16> {
  %q, %k, %v = sched.library "onnx.Split"(%x) {axis = 2 : i64, split = array<i64: 4, 2, 2>} : (tensor<1x2x8xbf16>) -> (tensor<1x2x4xbf16>, tensor<1x2x2xbf16>, tensor<1x2x2xbf16>)
  %0 = sched.view %q : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
  %1 = sched.view %k : tensor<1x2x2xbf16> to tensor<1x2x1x2xbf16>
  %2 = sched.view %v : tensor<1x2x2xbf16> to tensor<1x2x1x2xbf16>
  %o, %lse = sched.library "train.attention"(%0, %1, %2, %mask) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd", operands = array<i1: true, true, true, true, false>} : (tensor<1x2x2x2xbf16>, tensor<1x2x1x2xbf16>, tensor<1x2x1x2xbf16>, tensor<2x2xi1>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x2xf32>)
  %dq, %dk, %dv = sched.library "train.attention_grad"(%g, %0, %1, %2, %o, %lse, %mask) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd", operands = array<i1: true, true, true, true, true, true, true, false>} : (tensor<1x2x2x2xbf16>, tensor<1x2x2x2xbf16>, tensor<1x2x1x2xbf16>, tensor<1x2x1x2xbf16>, tensor<1x2x2x2xbf16>, tensor<1x2x2xf32>, tensor<2x2xi1>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x1x2xbf16>, tensor<1x2x1x2xbf16>)
  %3 = sched.view %dq : tensor<1x2x2x2xbf16> to tensor<1x2x4xbf16>
  %4 = sched.view %dk : tensor<1x2x1x2xbf16> to tensor<1x2x2xbf16>
  %5 = sched.view %dv : tensor<1x2x1x2xbf16> to tensor<1x2x2xbf16>
  %6 = sched.library "onnx.Concat"(%3, %4, %5) {axis = 2 : i64} : (tensor<1x2x4xbf16>, tensor<1x2x2xbf16>, tensor<1x2x2xbf16>) -> tensor<1x2x8xbf16>
  return %6 : tensor<1x2x8xbf16>
}

// -----

// A gradient that something else reads, too, stays as it is; the attention itself is packed.
// CHECK-LABEL: func.func @read_twice
// CHECK: onnx.Split
// CHECK: "train.attention"(%arg0)
// CHECK: "train.attention_grad"(%arg1, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: onnx.Concat
func.func @read_twice(%x: tensor<1x2x12xf16>, %g: tensor<1x2x2x2xf16>) -> (tensor<1x2x12xf16>, tensor<1x2x4xf16>) {
  %q, %k, %v = sched.library "onnx.Split"(%x) {axis = 2 : i64, split = array<i64: 4, 4, 4>} : (tensor<1x2x12xf16>) -> (tensor<1x2x4xf16>, tensor<1x2x4xf16>, tensor<1x2x4xf16>)
  %0 = sched.view %q : tensor<1x2x4xf16> to tensor<1x2x2x2xf16>
  %1 = sched.view %k : tensor<1x2x4xf16> to tensor<1x2x2x2xf16>
  %2 = sched.view %v : tensor<1x2x4xf16> to tensor<1x2x2x2xf16>
  %o, %lse = sched.library "train.attention"(%0, %1, %2) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"} : (tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>) -> (tensor<1x2x2x2xf16>, tensor<1x2x2xf32>)
  %dq, %dk, %dv = sched.library "train.attention_grad"(%g, %0, %1, %2, %o, %lse) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"} : (tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2xf32>) -> (tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>, tensor<1x2x2x2xf16>)
  %3 = sched.view %dq : tensor<1x2x2x2xf16> to tensor<1x2x4xf16>
  %4 = sched.view %dk : tensor<1x2x2x2xf16> to tensor<1x2x4xf16>
  %5 = sched.view %dv : tensor<1x2x2x2xf16> to tensor<1x2x4xf16>
  %6 = sched.library "onnx.Concat"(%3, %4, %5) {axis = 2 : i64} : (tensor<1x2x4xf16>, tensor<1x2x4xf16>, tensor<1x2x4xf16>) -> tensor<1x2x12xf16>
  return %6, %4 : tensor<1x2x12xf16>, tensor<1x2x4xf16>
}

// -----

// Parts in another order, and f32.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: "train.attention"(%{{.*}}, %{{.*}}, %{{.*}})
func.func @others(%x: tensor<1x2x12xbf16>, %y: tensor<1x2x12xf32>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x2x2xf32>) {
  %k, %q, %v = sched.library "onnx.Split"(%x) {axis = 2 : i64, split = array<i64: 4, 4, 4>} : (tensor<1x2x12xbf16>) -> (tensor<1x2x4xbf16>, tensor<1x2x4xbf16>, tensor<1x2x4xbf16>)
  %0 = sched.view %q : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
  %1 = sched.view %k : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
  %2 = sched.view %v : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
  %o, %lse = sched.library "train.attention"(%0, %1, %2) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"} : (tensor<1x2x2x2xbf16>, tensor<1x2x2x2xbf16>, tensor<1x2x2x2xbf16>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x2xf32>)
  %a, %b, %c = sched.library "onnx.Split"(%y) {axis = 2 : i64, split = array<i64: 4, 4, 4>} : (tensor<1x2x12xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  %3 = sched.view %a : tensor<1x2x4xf32> to tensor<1x2x2x2xf32>
  %4 = sched.view %b : tensor<1x2x4xf32> to tensor<1x2x2x2xf32>
  %5 = sched.view %c : tensor<1x2x4xf32> to tensor<1x2x2x2xf32>
  %p, %sum = sched.library "train.attention"(%3, %4, %5) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2xf32>)
  return %o, %p : tensor<1x2x2x2xbf16>, tensor<1x2x2x2xf32>
}
