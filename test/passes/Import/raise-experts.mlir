// RUN: kedge-opt %s --kedge-raise-experts --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// Matrices on the left, as torch.bmm(weight, input) has them; rows repeated for the experts of each token.
// CHECK-LABEL: @left
// CHECK-NEXT: %[[X:.*]] = onnx.Reshape %arg0 {shape = array<i64: 6, 4>}
// CHECK-NEXT: %[[Y:.*]] = train.grouped_matmul %[[X]], %arg2, %arg1 {transB = true} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8x3x4xf32>) -> tensor<6x2x3xf32>
// CHECK-NEXT: onnx.Reshape %[[Y]] {shape = array<i64: 12, 3, 1>}
// The row of a bias for each place is a Gather, whatever op picks it.
// CHECK: onnx.Gather %arg3, %{{.*}} {axis = 0 : i64} : (tensor<8x3xf32>, tensor<12xi64>) -> tensor<12x3xf32>
func.func @left(%x: tensor<2x3x4xf32>, %w: tensor<8x3x4xf32>, %experts: tensor<6x2xi64>, %bias: tensor<8x3xf32>) -> (tensor<12x3x1xf32>, tensor<12x3xf32>) {
  %0 = onnx.Reshape %x {shape = array<i64: 6, 1, 4>} : (tensor<2x3x4xf32>) -> tensor<6x1x4xf32>
  %1 = onnx.Expand %0 {shape = array<i64: 6, 2, 4>} : (tensor<6x1x4xf32>) -> tensor<6x2x4xf32>
  %2 = onnx.Reshape %1 {shape = array<i64: 12, 4, 1>} : (tensor<6x2x4xf32>) -> tensor<12x4x1xf32>
  %3 = onnx.Reshape %experts {shape = array<i64: 12, 1>} : (tensor<6x2xi64>) -> tensor<12x1xi64>
  %4 = onnx.GatherND %w, %3 {batch_dims = 0 : i64} : (tensor<8x3x4xf32>, tensor<12x1xi64>) -> tensor<12x3x4xf32>
  %5 = onnx.MatMul %4, %2 : (tensor<12x3x4xf32>, tensor<12x4x1xf32>) -> tensor<12x3x1xf32>
  %6 = onnx.GatherND %bias, %3 {batch_dims = 0 : i64} : (tensor<8x3xf32>, tensor<12x1xi64>) -> tensor<12x3xf32>
  return %5, %6 : tensor<12x3x1xf32>, tensor<12x3xf32>
}

// -----

// CHECK-LABEL: @right
// CHECK: train.grouped_matmul %{{.*}}, %{{.*}}, %arg1 : (tensor<5x4xf32>, tensor<5x1xi64>, tensor<8x4x3xf32>) -> tensor<5x1x3xf32>
func.func @right(%x: tensor<5x4xf32>, %w: tensor<8x4x3xf32>, %experts: tensor<5xi64>) -> tensor<5x1x3xf32> {
  %0 = onnx.Reshape %x {shape = array<i64: 5, 1, 4>} : (tensor<5x4xf32>) -> tensor<5x1x4xf32>
  %1 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x4x3xf32>, tensor<5xi64>) -> tensor<5x4x3xf32>
  %2 = onnx.MatMul %0, %1 : (tensor<5x1x4xf32>, tensor<5x4x3xf32>) -> tensor<5x1x3xf32>
  return %2 : tensor<5x1x3xf32>
}

// -----

// One row for all matrices of a token, and matrices that are read transposed.
// CHECK-LABEL: @broadcast
// CHECK: train.grouped_matmul %{{.*}}, %arg2, %arg1 {transB = true} : (tensor<5x4xf32>, tensor<5x2xi32>, tensor<8x3x4xf32>) -> tensor<5x2x3xf32>
func.func @broadcast(%x: tensor<5x4xf32>, %w: tensor<8x3x4xf32>, %experts: tensor<5x2xi32>) -> tensor<5x2x1x3xf32> {
  %0 = onnx.Reshape %x {shape = array<i64: 5, 1, 1, 4>} : (tensor<5x4xf32>) -> tensor<5x1x1x4xf32>
  %1 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x3x4xf32>, tensor<5x2xi32>) -> tensor<5x2x3x4xf32>
  %2 = onnx.MatMul %0, %1 {transB = true} : (tensor<5x1x1x4xf32>, tensor<5x2x3x4xf32>) -> tensor<5x2x1x3xf32>
  return %2 : tensor<5x2x1x3xf32>
}

// -----

// Several rows for each matrix are a product of their own.
// CHECK-LABEL: @several_rows
// CHECK-NOT: train.grouped_matmul
func.func @several_rows(%x: tensor<9x6x4xf32>, %w: tensor<8x4x3xf32>, %experts: tensor<9xi64>) -> tensor<9x6x3xf32> {
  %0 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x4x3xf32>, tensor<9xi64>) -> tensor<9x4x3xf32>
  // expected-remark @+1 {{copies a matrix of 'tensor<8x4x3xf32>' for each of 9 rows, 432 bytes: its rows are in no form that is grouped by matrix}}
  %1 = onnx.MatMul %x, %0 : (tensor<9x6x4xf32>, tensor<9x4x3xf32>) -> tensor<9x6x3xf32>
  return %1 : tensor<9x6x3xf32>
}

// -----

// Columns chosen, or a row out of several that is not repeated for its neighbours.
// CHECK-LABEL: @others
// CHECK-NOT: train.grouped_matmul
func.func @others(%x: tensor<1x2x4xf32>, %w: tensor<8x4x3xf32>, %columns: tensor<2xi64>, %experts: tensor<3x2xi64>) -> (tensor<8x1x2xf32>, tensor<3x2x1x3xf32>) {
  %0 = onnx.Gather %w, %columns {axis = 2 : i64} : (tensor<8x4x3xf32>, tensor<2xi64>) -> tensor<8x4x2xf32>
  %1 = onnx.Reshape %x {shape = array<i64: 2, 1, 4>} : (tensor<1x2x4xf32>) -> tensor<2x1x4xf32>
  %2 = onnx.Slice %1 {starts = array<i64: 0, 0, 0>, ends = array<i64: 1, 1, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x1x4xf32>) -> tensor<1x1x4xf32>
  %3 = onnx.MatMul %2, %0 : (tensor<1x1x4xf32>, tensor<8x4x2xf32>) -> tensor<8x1x2xf32>
  %4 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x4x3xf32>, tensor<3x2xi64>) -> tensor<3x2x4x3xf32>
  %5 = onnx.MatMul %1, %4 : (tensor<2x1x4xf32>, tensor<3x2x4x3xf32>) -> tensor<3x2x1x3xf32>
  return %3, %5 : tensor<8x1x2xf32>, tensor<3x2x1x3xf32>
}

// -----

// All experts for all rows, with biases; weights are scattered.
// CHECK-LABEL: @scattered
// CHECK: %[[ROUTED:.*]], %[[CHOSEN:.*]] = onnx.TopK
// CHECK-DAG: %[[UP:.*]] = train.grouped_matmul %arg0, %[[CHOSEN]], %arg2 : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8x4x10xf32>) -> tensor<6x2x10xf32>
// CHECK-DAG: %[[BIASES:.*]] = onnx.Gather %{{.*}}, %[[CHOSEN]] {axis = 0 : i64} : (tensor<8x10xf32>, tensor<6x2xi64>) -> tensor<6x2x10xf32>
// CHECK: %[[BIASED:.*]] = onnx.Add %[[UP]], %[[BIASES]]
// CHECK: %[[PARTS:.*]]:2 = onnx.Split %[[BIASED]] {axis = 2 : i64, split = array<i64: 5, 5>}
// CHECK: %[[INNER:.*]] = train.swiglu %[[PARTS]]#0, %[[PARTS]]#1
// CHECK: train.grouped_matmul %{{.*}}, %{{.*}}, %arg4 {transB = true} : (tensor<12x5xf32>, tensor<12x1xi64>, tensor<8x4x5xf32>) -> tensor<12x1x4xf32>
// CHECK: onnx.ReduceSum %{{.*}} {axes = array<i64: 1>} : (tensor<6x2x4xf32>) -> tensor<6x4xf32>
// CHECK-NOT: onnx.MatMul
func.func @scattered(%x: tensor<6x4xf32>, %scores: tensor<6x8xf32>, %up: tensor<8x4x10xf32>, %bias: tensor<8x1x10xf32>, %down: tensor<8x4x5xf32>) -> tensor<6x4xf32> {
  %zeros = onnx.Constant dense<0.0> : tensor<6x8xf32>
  %values, %indices = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi64>)
  %g = onnx.ScatterElements %zeros, %indices, %values {axis = 1 : i64, reduction = "none"} : (tensor<6x8xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %0 = onnx.Tile %x {repeats = array<i64: 8, 1>} : (tensor<6x4xf32>) -> tensor<48x4xf32>
  %1 = onnx.Reshape %0 {shape = array<i64: 8, 6, 4>} : (tensor<48x4xf32>) -> tensor<8x6x4xf32>
  %2 = onnx.MatMul %1, %up : (tensor<8x6x4xf32>, tensor<8x4x10xf32>) -> tensor<8x6x10xf32>
  %3 = onnx.Add %2, %bias : (tensor<8x6x10xf32>, tensor<8x1x10xf32>) -> tensor<8x6x10xf32>
  %4:2 = onnx.Split %3 {axis = 2 : i64, split = array<i64: 5, 5>} : (tensor<8x6x10xf32>) -> (tensor<8x6x5xf32>, tensor<8x6x5xf32>)
  %5 = train.swiglu %4#0, %4#1 : (tensor<8x6x5xf32>, tensor<8x6x5xf32>) -> tensor<8x6x5xf32>
  %6 = onnx.MatMul %5, %down {transB = true} : (tensor<8x6x5xf32>, tensor<8x4x5xf32>) -> tensor<8x6x4xf32>
  %7 = onnx.Transpose %g {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %8 = onnx.Reshape %7 {shape = array<i64: 8, 6, 1>} : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
  %9 = onnx.Mul %6, %8 : (tensor<8x6x4xf32>, tensor<8x6x1xf32>) -> tensor<8x6x4xf32>
  %10 = onnx.ReduceSum %9 {axes = array<i64: 0>} : (tensor<8x6x4xf32>) -> tensor<6x4xf32>
  return %10 : tensor<6x4xf32>
}

// -----

// Weights are a sum of one-hot masks, and a product adds up; elements are taken by twos, and some are every expert's.
// CHECK-LABEL: @summed
// CHECK: train.grouped_matmul %{{.*}}, %{{.*}}, %arg2 : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8x4x10xf32>) -> tensor<6x2x10xf32>
// CHECK: onnx.Slice %{{.*}} {ends = array<i64: 6, 2, 10>, starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 2>} : (tensor<6x2x10xf32>) -> tensor<6x2x5xf32>
// CHECK: onnx.Mul %{{.*}}, %arg4 : (tensor<6x2x5xf32>, tensor<5xf32>) -> tensor<6x2x5xf32>
// CHECK: onnx.Add %{{.*}}, %{{.*}} : (tensor<6x2x5xf32>, tensor<6x1x1xf32>) -> tensor<6x2x5xf32>
// CHECK: onnx.Reshape %{{.*}} {shape = array<i64: 6, 5, 1>}
func.func @summed(%x: tensor<2x3x4xf32>, %scores: tensor<6x8xf32>, %up: tensor<8x4x10xf32>, %shift: tensor<1x6x1xf32>, %scale: tensor<5xf32>) -> tensor<6x5x1xf32> {
  %numbers = onnx.Constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %values, %indices = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi64>)
  %i = onnx.Reshape %indices {shape = array<i64: 6, 2, 1>} : (tensor<6x2xi64>) -> tensor<6x2x1xi64>
  %hot = onnx.Equal %i, %numbers : (tensor<6x2x1xi64>, tensor<8xi64>) -> tensor<6x2x8xi1>
  %mask = onnx.Cast %hot {to = f32} : (tensor<6x2x8xi1>) -> tensor<6x2x8xf32>
  %w = onnx.Reshape %values {shape = array<i64: 6, 2, 1>} : (tensor<6x2xf32>) -> tensor<6x2x1xf32>
  %each = onnx.Mul %mask, %w : (tensor<6x2x8xf32>, tensor<6x2x1xf32>) -> tensor<6x2x8xf32>
  %g = onnx.ReduceSum %each {axes = array<i64: 1>} : (tensor<6x2x8xf32>) -> tensor<6x8xf32>
  %0 = onnx.Reshape %x {shape = array<i64: 1, 6, 4>} : (tensor<2x3x4xf32>) -> tensor<1x6x4xf32>
  %1 = onnx.MatMul %0, %up : (tensor<1x6x4xf32>, tensor<8x4x10xf32>) -> tensor<8x6x10xf32>
  %2 = onnx.Slice %1 {starts = array<i64: 0, 0, 1>, ends = array<i64: 8, 6, 10>, steps = array<i64: 1, 1, 2>} : (tensor<8x6x10xf32>) -> tensor<8x6x5xf32>
  %3 = onnx.Mul %2, %scale : (tensor<8x6x5xf32>, tensor<5xf32>) -> tensor<8x6x5xf32>
  %4 = onnx.Add %3, %shift : (tensor<8x6x5xf32>, tensor<1x6x1xf32>) -> tensor<8x6x5xf32>
  %5 = onnx.Transpose %4 {perm = array<i64: 1, 2, 0>} : (tensor<8x6x5xf32>) -> tensor<6x5x8xf32>
  %6 = onnx.Reshape %g {shape = array<i64: 6, 8, 1>} : (tensor<6x8xf32>) -> tensor<6x8x1xf32>
  %7 = onnx.MatMul %5, %6 : (tensor<6x5x8xf32>, tensor<6x8x1xf32>) -> tensor<6x5x1xf32>
  return %7 : tensor<6x5x1xf32>
}

// -----

// A softmax over the experts of each row needs all of them.
// CHECK-LABEL: @not_alone
// CHECK-NOT: train.grouped_matmul
func.func @not_alone(%x: tensor<1x6x4xf32>, %scores: tensor<6x8xf32>, %up: tensor<8x4x4xf32>) -> tensor<6x4xf32> {
  %zeros = onnx.Constant dense<0.0> : tensor<6x8xf32>
  %values, %indices = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi64>)
  %g = onnx.ScatterElements %zeros, %indices, %values {axis = 1 : i64, reduction = "none"} : (tensor<6x8xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %0 = onnx.MatMul %x, %up : (tensor<1x6x4xf32>, tensor<8x4x4xf32>) -> tensor<8x6x4xf32>
  %1 = onnx.Softmax %0 {axis = 0 : i64} : (tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %2 = onnx.Transpose %g {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %3 = onnx.Reshape %2 {shape = array<i64: 8, 6, 1>} : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
  %4 = onnx.Mul %1, %3 : (tensor<8x6x4xf32>, tensor<8x6x1xf32>) -> tensor<8x6x4xf32>
  // expected-remark @+1 {{adds up 8 experts for each of 6 rows, of which 2 count: they are in no form of which these alone can be computed}}
  %5 = onnx.ReduceSum %4 {axes = array<i64: 0>} : (tensor<8x6x4xf32>) -> tensor<6x4xf32>
  return %5 : tensor<6x4xf32>
}

// -----

// Experts that may be the same, and weights that are turned around.
// CHECK-LABEL: @other_weights
// CHECK-NOT: train.grouped_matmul
func.func @other_weights(%x: tensor<1x8x4xf32>, %values: tensor<8x2xf32>, %indices: tensor<8x2xi64>, %scores: tensor<8x8xf32>, %up: tensor<8x4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zeros = onnx.Constant dense<0.0> : tensor<8x8xf32>
  %0 = onnx.MatMul %x, %up : (tensor<1x8x4xf32>, tensor<8x4x4xf32>) -> tensor<8x8x4xf32>
  %g = onnx.ScatterElements %zeros, %indices, %values {axis = 1 : i64, reduction = "none"} : (tensor<8x8xf32>, tensor<8x2xi64>, tensor<8x2xf32>) -> tensor<8x8xf32>
  %1 = onnx.Transpose %g {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = onnx.Reshape %1 {shape = array<i64: 8, 8, 1>} : (tensor<8x8xf32>) -> tensor<8x8x1xf32>
  %3 = onnx.Mul %0, %2 : (tensor<8x8x4xf32>, tensor<8x8x1xf32>) -> tensor<8x8x4xf32>
  %4 = onnx.ReduceSum %3 {axes = array<i64: 0>} : (tensor<8x8x4xf32>) -> tensor<8x4xf32>
  %top, %found = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (tensor<8x8xf32>) -> (tensor<8x2xf32>, tensor<8x2xi64>)
  %h = onnx.ScatterElements %zeros, %found, %top {axis = 1 : i64, reduction = "none"} : (tensor<8x8xf32>, tensor<8x2xi64>, tensor<8x2xf32>) -> tensor<8x8xf32>
  %5 = onnx.Reshape %h {shape = array<i64: 8, 8, 1>} : (tensor<8x8xf32>) -> tensor<8x8x1xf32>
  %6 = onnx.Mul %0, %5 : (tensor<8x8x4xf32>, tensor<8x8x1xf32>) -> tensor<8x8x4xf32>
  %7 = onnx.ReduceSum %6 {axes = array<i64: 0>} : (tensor<8x8x4xf32>) -> tensor<8x4xf32>
  return %4, %7 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A one-hot mask of any numbers has no one where the number is no expert's.
// CHECK-LABEL: @any_one_hot
// CHECK-NOT: train.grouped_matmul
func.func @any_one_hot(%x: tensor<1x6x4xf32>, %values: tensor<6x2x1xf32>, %indices: tensor<6x2x1xi64>, %up: tensor<8x4x4xf32>) -> tensor<6x4xf32> {
  %numbers = onnx.Constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %hot = onnx.Equal %indices, %numbers : (tensor<6x2x1xi64>, tensor<8xi64>) -> tensor<6x2x8xi1>
  %mask = onnx.Cast %hot {to = f32} : (tensor<6x2x8xi1>) -> tensor<6x2x8xf32>
  %each = onnx.Mul %mask, %values : (tensor<6x2x8xf32>, tensor<6x2x1xf32>) -> tensor<6x2x8xf32>
  %g = onnx.ReduceSum %each {axes = array<i64: 1>} : (tensor<6x2x8xf32>) -> tensor<6x8xf32>
  %0 = onnx.MatMul %x, %up : (tensor<1x6x4xf32>, tensor<8x4x4xf32>) -> tensor<8x6x4xf32>
  %1 = onnx.Transpose %g {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %2 = onnx.Reshape %1 {shape = array<i64: 8, 6, 1>} : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
  %3 = onnx.Mul %0, %2 : (tensor<8x6x4xf32>, tensor<8x6x1xf32>) -> tensor<8x6x4xf32>
  %4 = onnx.ReduceSum %3 {axes = array<i64: 0>} : (tensor<8x6x4xf32>) -> tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}
