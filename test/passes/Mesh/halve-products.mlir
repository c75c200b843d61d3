// RUN: kedge-opt %s --kedge-halve-products=when=on --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS-DAG: 2 kedge-halve-products gathers halved
// STATISTICS-DAG: 2 kedge-halve-products sums halved
// RUN: kedge-opt %s --kedge-halve-products=when=off | FileCheck %s --check-prefix=OFF
// OFF-NOT: onnx.Split
// RUN: kedge-opt %s --kedge-halve-products=device=h200 | FileCheck %s --check-prefix=AUTO
// RUN: not kedge-opt %s --kedge-halve-products=device=none 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: {{.*}}none

// Two products of what is gathered; the gradient of a weight gathers it itself.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[X:.*]]:2 = onnx.Split %[[IN:[a-z0-9]*]] {
// CHECK-NEXT: %[[A:.*]] = dist.all_gather %[[X]]#0 {{.*}} -> tensor<2x1x3xf32>
// CHECK-NEXT: %[[B:.*]] = dist.all_gather %[[X]]#1
// CHECK-NEXT: %[[P:.*]] = onnx.MatMul %[[A]], %{{.*}}
// CHECK-NEXT: %[[R:.*]] = onnx.Gemm %[[A]], %{{.*}}
// CHECK-NEXT: %[[Q:.*]] = onnx.MatMul %[[B]], %{{.*}}
// CHECK-NEXT: %[[S:.*]] = onnx.Gemm %[[B]], %{{.*}}
// CHECK-NEXT: %[[PQ:.*]] = onnx.Concat %[[P]], %[[Q]] {{.*}}axis = 1
// CHECK-NEXT: onnx.Reshape %[[PQ]] {{.*}} -> tensor<4x5xf32>
// CHECK-NEXT: onnx.Concat %[[R]], %[[S]]
// CHECK: %[[WHOLE:.*]] = dist.all_gather %[[IN]] {{.*}}backward{{.*}} -> tensor<2x1x2x3xf32>
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Reshape %[[WHOLE]]
// CHECK-NEXT: onnx.MatMul %[[ROWS]], %{{.*}} {{.*}}transA
// Too little to be worth it.
// AUTO-LABEL: func.func @gathers
// AUTO-NOT: onnx.Split
func.func @gathers(%x: tensor<6xf32>, %w: tensor<3x5xf32>,
    %c: tensor<5xf32>) -> (tensor<3x5xf32>) {
  %g = dist.all_gather %x {axis = "tensor", kedge.place = #kedge.place<forward "", "y">, ranks = 2 : i64} : (tensor<6xf32>) -> tensor<2x1x2x3xf32>
  %rows = onnx.Reshape %g {kedge.place = #kedge.place<forward "", "y">, shape = array<i64: 4, 3>} : (tensor<2x1x2x3xf32>) -> tensor<4x3xf32>
  %a = onnx.MatMul %rows, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %b = onnx.Gemm %rows, %w, %c {kedge.place = #kedge.place<forward "", "y">} : (tensor<4x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %d = onnx.Mul %a, %b {kedge.place = #kedge.place<backward "", "y">} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %dw = onnx.MatMul %rows, %d {kedge.place = #kedge.place<backward "", "y">, transA = true} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %dw : tensor<3x5xf32>
}

// A batch of two sequences, whose rows the ranks cut: halves are the sequences.
// CHECK-LABEL: func.func @sequences
// CHECK: %[[X:.*]]:2 = onnx.Split %{{[a-z0-9]*}} {{.*}} -> (tensor<12xf32>, tensor<12xf32>)
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[X]]#0 {{.*}} -> tensor<2x1x2x6xf32>
// CHECK-NEXT: dist.all_gather %[[X]]#1
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[G]]
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Reshape %[[T]] {{.*}} -> tensor<1x4x6xf32>
// CHECK-NEXT: onnx.MatMul %[[ROWS]], %
// CHECK: %[[Y:.*]] = onnx.Concat {{.*}} -> tensor<2x4x6xf32>
// CHECK: %[[H:.*]]:2 = onnx.Split %[[Y]] {{.*}} -> (tensor<1x4x6xf32>, tensor<1x4x6xf32>)
// CHECK-NEXT: %[[P:.*]] = onnx.MatMul %[[H]]#0, %{{.*}} -> tensor<1x4x6xf32>
// CHECK-NEXT: %[[F:.*]] = onnx.Reshape %[[P]]
// CHECK-NEXT: %[[E:.*]] = onnx.Transpose %[[F]]
// CHECK-NEXT: %[[S:.*]] = dist.reduce_scatter %[[E]] {{.*}} -> tensor<12xf32>
// CHECK-NEXT: onnx.MatMul %[[H]]#1, %
// CHECK: onnx.Concat %[[S]], %{{.*}} -> tensor<24xf32>
func.func @sequences(%x: tensor<24xf32>, %w: tensor<6x6xf32>,
    %v: tensor<6x6xf32>) -> (tensor<24xf32>) {
  %g = dist.all_gather %x {axis = "tensor", kedge.place = #kedge.place<forward "", "y">, ranks = 2 : i64} : (tensor<24xf32>) -> tensor<2x2x2x6xf32>
  %t = onnx.Transpose %g {kedge.place = #kedge.place<forward "", "y">, perm = array<i64: 1, 0, 2, 3>} : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %rows = onnx.Reshape %t {kedge.place = #kedge.place<forward "", "y">, shape = array<i64: 2, 4, 6>} : (tensor<2x2x2x6xf32>) -> tensor<2x4x6xf32>
  %y = onnx.MatMul %rows, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
  %z = onnx.MatMul %y, %v {kedge.place = #kedge.place<forward "", "z">} : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
  %f = onnx.Reshape %z {kedge.place = #kedge.place<forward "", "z">, shape = array<i64: 2, 2, 2, 6>} : (tensor<2x4x6xf32>) -> tensor<2x2x2x6xf32>
  %e = onnx.Transpose %f {kedge.place = #kedge.place<forward "", "z">, perm = array<i64: 1, 0, 2, 3>} : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %part = dist.reduce_scatter %e {axis = "tensor", kedge.place = #kedge.place<forward "", "z">, ranks = 2 : i64} : (tensor<2x2x2x6xf32>) -> tensor<24xf32>
  return %part : tensor<24xf32>
}

// Worth it: half a millisecond each.
// CHECK-LABEL: func.func @large
// AUTO-LABEL: func.func @large
// AUTO: onnx.Split
// AUTO: onnx.MatMul
// AUTO-NEXT: dist.reduce_scatter
// AUTO-NEXT: onnx.MatMul
// AUTO-NEXT: dist.reduce_scatter
func.func @large(%x: tensor<32768x2048xf32>, %w: tensor<2048x4096xf32>)
    -> (tensor<16777216xf32>) {
  %y = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<32768x2048xf32>, tensor<2048x4096xf32>) -> tensor<32768x4096xf32>
  %part = dist.reduce_scatter %y {axis = "tensor", kedge.place = #kedge.place<forward "", "y">, ranks = 8 : i64} : (tensor<32768x4096xf32>) -> tensor<16777216xf32>
  return %part : tensor<16777216xf32>
}

// Three rows of a rank have no halves, and a product that reads all rows at once is no product of rows.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: onnx.Split
func.func @stays(%x: tensor<6x2xf32>, %w: tensor<2x2xf32>)
    -> (tensor<6xf32>, tensor<2xf32>) {
  %y = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<6x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  %part = dist.reduce_scatter %y {axis = "tensor", kedge.place = #kedge.place<forward "", "y">, ranks = 2 : i64} : (tensor<6x2xf32>) -> tensor<6xf32>
  %z = onnx.MatMul %x, %x {kedge.place = #kedge.place<backward "", "y">, transA = true} : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<2x2xf32>
  %own = dist.reduce_scatter %z {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, ranks = 2 : i64} : (tensor<2x2xf32>) -> tensor<2xf32>
  return %part, %own : tensor<6xf32>, tensor<2xf32>
}
