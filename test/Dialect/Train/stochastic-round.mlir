// RUN: kedge-opt %s --kedge-form-clusters --split-input-file --verify-diagnostics | FileCheck %s
// f32 to bf16 by chance: what is drawn is added below the upper half of the number's bits; numbers are counted row-major.

// CHECK-LABEL: @round
// CHECK: ^bb0(%[[X:.*]]: f32, %[[SEED:.*]]: i64, %[[STEP:.*]]: i64):
// CHECK: %[[DRAWN:.*]] = sched.random 7(%[[SEED]], %[[STEP]], %{{.*}}, %{{.*}})
// CHECK: %[[SHARE:.*]] = arith.mulf %[[DRAWN]]
// CHECK: %[[CHANCE:.*]] = arith.fptosi %[[SHARE]] : f32 to i32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[SUM:.*]] = arith.addi %[[BITS]], %[[CHANCE]] : i32
// CHECK: %[[CUT:.*]] = arith.andi %[[SUM]], %{{.*}} : i32
// CHECK: %[[ROUNDED:.*]] = arith.bitcast %[[CUT]] : i32 to f32
// CHECK: arith.select %{{.*}}, %[[ROUNDED]], %[[X]] : f32
func.func @round(%x: tensor<4x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x8xbf16> {
  %0 = train.stochastic_round %x, %seed, %step {op_id = 7 : i64} : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// -----

func.func @wide(%x: tensor<4xf64>, %n: tensor<i64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{rounds 'tensor<4xf64>', expected f32}}
  %0 = train.stochastic_round %x, %n, %n {op_id = 7 : i64} : (tensor<4xf64>, tensor<i64>, tensor<i64>) -> tensor<4xbf16>
  return
}

// -----

func.func @counters(%x: tensor<4xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{operand #1 must be tensor<i64>, but got 'tensor<i32>'}}
  %0 = train.stochastic_round %x, %n, %n {op_id = 7 : i64} : (tensor<4xf32>, tensor<i32>, tensor<i32>) -> tensor<4xbf16>
  return
}
