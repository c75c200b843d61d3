// RUN: kedge-opt %s --kedge-chunk-feed-forward=max-bytes=128 --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-chunk-feed-forward=max-bytes=0 | FileCheck %s --check-prefix=WHOLE

// Four rows of 16 numbers are 256 bytes: two chunks of two rows. The backward's chunks read what the forward's made; the
// gradients of both weights are sums that products add up.
// CHECK-LABEL: func.func @step
// CHECK: %[[X0:.*]] = onnx.Slice %arg0 {ends = array<i64: 2, 4>{{.*}}starts = array<i64: 0, 0>
// CHECK: %[[H0:.*]] = onnx.MatMul %[[X0]], %arg1 {{.*}}train.chunk = 0
// CHECK: %[[R0:.*]] = onnx.Relu %[[H0]] {{.*}}-> tensor<2x16xf32>
// CHECK: %[[Y0:.*]] = onnx.MatMul %[[R0]], %arg2
// CHECK: %[[X1:.*]] = onnx.Slice %arg0 {ends = array<i64: 4, 4>{{.*}}starts = array<i64: 2, 0>
// CHECK: %[[H1:.*]] = onnx.MatMul %[[X1]], %arg1 {{.*}}train.chunk = 1
// CHECK: %[[R1:.*]] = onnx.Relu %[[H1]]
// CHECK: %[[Y1:.*]] = onnx.MatMul %[[R1]], %arg2
// CHECK: %[[Y:.*]] = onnx.Concat %[[Y0]], %[[Y1]] {axis = 0
// CHECK: %[[D:.*]] = onnx.Mul %[[Y]], %[[Y]]
// CHECK: %[[D0:.*]] = onnx.Slice %[[D]] {ends = array<i64: 2, 4>
// CHECK: %[[V0:.*]] = onnx.Gemm %[[R0]], %[[D0]] {{.*}}transA = true
// CHECK: %[[G0:.*]] = onnx.MatMul %[[D0]], %arg2 {{.*}}transB = true
// CHECK: %[[M0:.*]] = onnx.Mul %[[G0]], %[[R0]]
// CHECK: %[[W0:.*]] = onnx.Gemm %[[X0]], %[[M0]] {{.*}}transA = true
// CHECK: %[[B0:.*]] = onnx.ReduceSum %[[M0]]
// CHECK: %[[D1:.*]] = onnx.Slice %[[D]] {ends = array<i64: 4, 4>
// CHECK: %[[V1:.*]] = onnx.Gemm %[[R1]], %[[D1]], %[[V0]] {{.*}}transA = true
// CHECK: %[[G1:.*]] = onnx.MatMul %[[D1]], %arg2
// CHECK: %[[M1:.*]] = onnx.Mul %[[G1]], %[[R1]]
// CHECK: %[[W1:.*]] = onnx.Gemm %[[X1]], %[[M1]], %[[W0]] {{.*}}transA = true
// CHECK: %[[B1:.*]] = onnx.ReduceSum %[[M1]]
// CHECK: %[[B:.*]] = onnx.Add %[[B0]], %[[B1]]
// CHECK: return %[[Y]], %[[W1]], %[[V1]], %[[B]]

// Sums of 16 bits are rounded once. Rows of a sequence are cut where there is one row of the batch; the last chunk has what is left.
// CHECK-LABEL: func.func @rounded
// CHECK: onnx.Slice %arg0 {ends = array<i64: 1, 3, 4>
// CHECK: onnx.Relu {{.*}}-> tensor<1x3x16xbf16>
// CHECK: onnx.Gemm {{.*}}wide = true{{.*}}-> tensor<16x4xf32>
// CHECK: onnx.Relu {{.*}}-> tensor<1x2x16xbf16>
// CHECK: onnx.Gemm {{.*}}wide = true{{.*}}-> tensor<16x4xf32>
// CHECK: onnx.Cast {{.*}}(tensor<16x4xf32>) -> tensor<16x4xbf16>

// A softmax over the rows needs all of them; a wide value that is but multiplied gains nothing.
// CHECK-LABEL: func.func @over_rows
// CHECK-NOT: train.chunk
// CHECK-LABEL: func.func @products
// CHECK-NOT: train.chunk
// CHECK: 4 kedge-chunk-feed-forward chunks
// CHECK: 2 kedge-chunk-feed-forward regions

// WHOLE-LABEL: func.func @step
// WHOLE-NOT: train.chunk
// WHOLE: return

module {
  func.func @step(%x: tensor<4x4xf32>, %w: tensor<4x16xf32>, %v: tensor<16x4xf32>)
      -> (tensor<4x4xf32>, tensor<4x16xf32>, tensor<16x4xf32>, tensor<16xf32>) {
    %wide = onnx.MatMul %x, %w : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %relu = onnx.Relu %wide : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %y = onnx.MatMul %relu, %v : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    %d = onnx.Mul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %dv = onnx.MatMul %relu, %d {transA = true} : (tensor<4x16xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
    %dwide = onnx.MatMul %d, %v {transB = true} : (tensor<4x4xf32>, tensor<16x4xf32>) -> tensor<4x16xf32>
    %masked = onnx.Mul %dwide, %relu : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %dw = onnx.MatMul %x, %masked {transA = true} : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %db = onnx.ReduceSum %masked {axes = array<i64: 0>, keepdims = false} : (tensor<4x16xf32>) -> tensor<16xf32>
    return %y, %dw, %dv, %db : tensor<4x4xf32>, tensor<4x16xf32>, tensor<16x4xf32>, tensor<16xf32>
  }

  func.func @rounded(%x: tensor<1x5x4xbf16>, %w: tensor<4x16xbf16>, %d: tensor<5x4xbf16>) -> tensor<16x4xbf16> {
    %wide = onnx.MatMul %x, %w : (tensor<1x5x4xbf16>, tensor<4x16xbf16>) -> tensor<1x5x16xbf16>
    %relu = onnx.Relu %wide : (tensor<1x5x16xbf16>) -> tensor<1x5x16xbf16>
    %flat = onnx.Reshape %relu {shape = array<i64: 5, 16>} : (tensor<1x5x16xbf16>) -> tensor<5x16xbf16>
    %dv = onnx.MatMul %flat, %d {transA = true} : (tensor<5x16xbf16>, tensor<5x4xbf16>) -> tensor<16x4xbf16>
    return %dv : tensor<16x4xbf16>
  }

  func.func @over_rows(%x: tensor<4x4xf32>, %w: tensor<4x16xf32>, %v: tensor<16x4xf32>) -> tensor<4x4xf32> {
    %wide = onnx.MatMul %x, %w : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %all = onnx.Softmax %wide {axis = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %y = onnx.MatMul %all, %v : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }

  func.func @products(%x: tensor<4x4xf32>, %w: tensor<4x16xf32>, %v: tensor<16x4xf32>) -> tensor<4x4xf32> {
    %wide = onnx.MatMul %x, %w : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %y = onnx.MatMul %wide, %v : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}
