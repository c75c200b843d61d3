// RUN: kedge-opt %s --split-input-file --kedge-join-slices --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 7 kedge-join-slices slices joined

// Three slices in any order, one of them added to the sum of the others.
// CHECK-LABEL: func.func @joined
// CHECK-SAME: %[[A:.*]]: tensor<2x1xf32>, %[[B:.*]]: tensor<2x3xf32>, %[[C:.*]]: tensor<2x2xf32>
// CHECK-NEXT: %[[ALL:.*]] = onnx.Concat %[[C]], %[[A]], %[[B]] {axis = 1 : i64}
// CHECK-NEXT: return %[[ALL]]
func.func @joined(%a: tensor<2x1xf32>, %b: tensor<2x3xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  %p = train.slice_grad %a {starts = array<i64: 0, 2>, ends = array<i64: 2, 3>, steps = array<i64: 1, 1>, shape = array<i64: 2, 6>} : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %q = train.slice_grad %b {starts = array<i64: 0, 3>, ends = array<i64: 2, 6>, steps = array<i64: 1, 1>, shape = array<i64: 2, 6>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %r = train.slice_grad %c {starts = array<i64: 0, 0>, ends = array<i64: 2, 2>, steps = array<i64: 1, 1>, shape = array<i64: 2, 6>} : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %s = onnx.Add %p, %q : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %t = onnx.Add %r, %s : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %t : tensor<2x6xf32>
}

// -----

// Something else is added behind: what is before it is joined.
// CHECK-LABEL: func.func @more
// CHECK-SAME: %[[A:.*]]: tensor<1xf32>, %[[B:.*]]: tensor<1xf32>, %[[C:.*]]: tensor<2xf32>
// CHECK-NEXT: %[[ALL:.*]] = onnx.Concat %[[A]], %[[B]] {axis = 0 : i64}
// CHECK-NEXT: onnx.Add %[[ALL]], %[[C]]
func.func @more(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<2xf32>) -> tensor<2xf32> {
  %p = train.slice_grad %a {starts = array<i64: 0>, ends = array<i64: 1>, steps = array<i64: 1>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %q = train.slice_grad %b {starts = array<i64: 1>, ends = array<i64: 2>, steps = array<i64: 1>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %s = onnx.Add %p, %q : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %t = onnx.Add %s, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %t : tensor<2xf32>
}

// -----

// Each half of the sum is a whole of its own.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[ALL:.*]] = onnx.Concat %{{.*}}, %{{.*}} {axis = 0 : i64}
// CHECK-NEXT: return %[[ALL]], %[[ALL]]
func.func @twice(%a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %p = train.slice_grad %a {starts = array<i64: 0>, ends = array<i64: 1>, steps = array<i64: 1>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %q = train.slice_grad %b {starts = array<i64: 1>, ends = array<i64: 2>, steps = array<i64: 1>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %s = onnx.Add %p, %q : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %s, %s : tensor<2xf32>, tensor<2xf32>
}

// -----

// What overlaps, leaves a place out, has steps, is cut along two dims or is read elsewhere stays a sum.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: onnx.Concat
func.func @kept(%a: tensor<1xf32>, %b: tensor<2xf32>, %c: tensor<1x1xf32>, %d: tensor<1x2xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %low = train.slice_grad %b {starts = array<i64: 0>, ends = array<i64: 2>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<2xf32>) -> tensor<3xf32>
  %middle = train.slice_grad %a {starts = array<i64: 1>, ends = array<i64: 2>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<1xf32>) -> tensor<3xf32>
  %overlap = onnx.Add %low, %middle : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %first = train.slice_grad %a {starts = array<i64: 0>, ends = array<i64: 1>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<1xf32>) -> tensor<3xf32>
  %second = train.slice_grad %a {starts = array<i64: 1>, ends = array<i64: 2>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<1xf32>) -> tensor<3xf32>
  %short = onnx.Add %first, %second : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %even = train.slice_grad %a {starts = array<i64: 0>, ends = array<i64: 2>, steps = array<i64: 2>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %odd = train.slice_grad %a {starts = array<i64: 1>, ends = array<i64: 2>, steps = array<i64: 2>, shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  %strided = onnx.Add %even, %odd : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %corner = train.slice_grad %c {starts = array<i64: 0, 0>, ends = array<i64: 1, 1>, steps = array<i64: 1, 1>, shape = array<i64: 2, 2>} : (tensor<1x1xf32>) -> tensor<2x2xf32>
  %row = train.slice_grad %d {starts = array<i64: 1, 0>, ends = array<i64: 2, 2>, steps = array<i64: 1, 1>, shape = array<i64: 2, 2>} : (tensor<1x2xf32>) -> tensor<2x2xf32>
  %dims = onnx.Add %corner, %row : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %front = train.slice_grad %a {starts = array<i64: 0>, ends = array<i64: 1>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<1xf32>) -> tensor<3xf32>
  %back = train.slice_grad %b {starts = array<i64: 1>, ends = array<i64: 3>, steps = array<i64: 1>, shape = array<i64: 3>} : (tensor<2xf32>) -> tensor<3xf32>
  %read = onnx.Add %front, %back : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %overlap, %short, %strided, %dims, %read, %front : tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
}
