// RUN: kedge-opt %s --split-input-file --kedge-cut-experts | FileCheck %s

// Adapters have the experts in rows of A, and in columns of each row of B; their gradients are cut as they are.
// CHECK: train.state frozen @w tensor<2x3x4xf32> {sharding = #dist.sharding<[4, 3, 4] cut[<0 over "expert" = 2>]>}
// CHECK: train.state parameter @a tensor<4x3xf32> {sharding = #dist.sharding<[8, 3] cut[<0 over "expert" = 2>]>}
// CHECK: train.state parameter @b tensor<4x4xf32> {sharding = #dist.sharding<[4, 8] cut[<1 over "expert" = 2 sections[4, 4]>]>}
// CHECK: onnx.Reshape %{{.*}} {shape = array<i64: 2, 2, 3>} : (tensor<4x3xf32>) -> tensor<2x2x3xf32>
// CHECK: onnx.Reshape %{{.*}} {shape = array<i64: 4, 2, 2>} : (tensor<4x4xf32>) -> tensor<4x2x2xf32>
// CHECK: onnx.Transpose {{.*}} : (tensor<4x2x2xf32>) -> tensor<2x4x2xf32>
// CHECK-COUNT-3: = train.grouped_matmul
// CHECK: onnx.Add {{.*}} : (tensor<12x1x4xf32>, tensor<12x1x4xf32>)
// CHECK-COUNT-1: dist.combine
// CHECK-NOT: dist.combine
// CHECK: train.grouped_matmul_grad {{.*}} -> tensor<2x4x2xf32>
// CHECK: onnx.Transpose {{.*}} : (tensor<2x4x2xf32>) -> tensor<4x2x2xf32>
// CHECK: onnx.Reshape {{.*}} {shape = array<i64: 4, 4>} : (tensor<4x2x2xf32>) -> tensor<4x4xf32>
module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state frozen @w tensor<4x3x4xf32>
  train.state parameter @a tensor<8x3xf32>
  train.state parameter @b tensor<4x8xf32>
  func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                  %dy: tensor<6x1x4xf32> {train.binding = #train.binding<input "dy">}, %w: tensor<4x3x4xf32> {train.binding = #train.binding<state @w>},
                  %a: tensor<8x3xf32> {train.binding = #train.binding<state @a>}, %b: tensor<4x8xf32> {train.binding = #train.binding<state @b>})
      -> (tensor<6x1x4xf32> {train.binding = #train.binding<output "y">}, tensor<4x8xf32> {train.binding = #train.binding<gradient @b>})
      attributes {train.kind = #train.kind<step>} {
    %a3 = onnx.Reshape %a {shape = array<i64: 4, 2, 3>} : (tensor<8x3xf32>) -> tensor<4x2x3xf32>
    %b3 = onnx.Reshape %b {shape = array<i64: 4, 2, 4>} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
    %bt = onnx.Transpose %b3 {perm = array<i64: 2, 0, 1>} : (tensor<4x2x4xf32>) -> tensor<4x4x2xf32>
    %y = train.grouped_matmul %x, %e, %w : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<4x3x4xf32>) -> tensor<6x1x4xf32>
    %l3 = train.grouped_matmul %x, %e, %a3 {transB = true} : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<4x2x3xf32>) -> tensor<6x1x2xf32>
    %l = onnx.Reshape %l3 {shape = array<i64: 6, 2>} : (tensor<6x1x2xf32>) -> tensor<6x2xf32>
    %d = train.grouped_matmul %l, %e, %bt {transB = true} : (tensor<6x2xf32>, tensor<6x1xi64>, tensor<4x4x2xf32>) -> tensor<6x1x4xf32>
    %s = onnx.Add %y, %d : (tensor<6x1x4xf32>, tensor<6x1x4xf32>) -> tensor<6x1x4xf32>
    %db3 = train.grouped_matmul_grad %l, %e, %dy {count = 4 : i64, transB = true} : (tensor<6x2xf32>, tensor<6x1xi64>, tensor<6x1x4xf32>) -> tensor<4x4x2xf32>
    %dbt = onnx.Transpose %db3 {perm = array<i64: 1, 2, 0>} : (tensor<4x4x2xf32>) -> tensor<4x2x4xf32>
    %db = onnx.Reshape %dbt {shape = array<i64: 4, 8>} : (tensor<4x2x4xf32>) -> tensor<4x8xf32>
    return %s, %db : tensor<6x1x4xf32>, tensor<4x8xf32>
  }
}

// -----

// Codes lie in the order of elements. Largest magnitudes that are in few bits themselves stay whole where a block of them has experts of two ranks.
// CHECK: train.state frozen @c tensor<4096xui8> {sharding = #dist.sharding<[8192] cut[<0 over "expert" = 2>]>}
// CHECK: train.state frozen @m tensor<256xui8>{{$}}
// CHECK: train.state frozen @n tensor<1xf32>{{$}}
// CHECK: %[[MAX:.*]] = train.scale_blocks
// CHECK: %[[SUM:.*]] = onnx.Add %[[MAX]]
// CHECK: %[[OWN:.*]] = dist.local_shard %[[SUM]] {axis = "expert", ranks = 2 : i64} : (tensor<256xf32>) -> tensor<128xf32>
// CHECK: train.dequantize %{{.*}}, %[[OWN]] {{.*}}whole = tensor<2x64x64xf32>} : (tensor<4096xui8>, tensor<128xf32>) -> tensor<2x64x64xf32>
module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state frozen @c tensor<8192xui8>
  train.state frozen @m tensor<256xui8>
  train.state frozen @n tensor<1xf32>
  func.func @eval(%x: tensor<6x64xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                  %c: tensor<8192xui8> {train.binding = #train.binding<state @c>}, %m: tensor<256xui8> {train.binding = #train.binding<state @m>},
                  %n: tensor<1xf32> {train.binding = #train.binding<state @n>})
      -> (tensor<6x1x64xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<eval>} {
    %f = onnx.Cast %m {to = f32} : (tensor<256xui8>) -> tensor<256xf32>
    %b = train.scale_blocks %f, %n {block = 256 : i64} : (tensor<256xf32>, tensor<1xf32>) -> tensor<256xf32>
    %s = onnx.Add %b, %n : (tensor<256xf32>, tensor<1xf32>) -> tensor<256xf32>
    %w = train.dequantize %c, %s {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<4x64x64xf32>} : (tensor<8192xui8>, tensor<256xf32>) -> tensor<4x64x64xf32>
    %y = train.grouped_matmul %x, %e, %w : (tensor<6x64xf32>, tensor<6x1xi64>, tensor<4x64x64xf32>) -> tensor<6x1x64xf32>
    return %y : tensor<6x1x64xf32>
  }
}

// -----

// Else all of it is shared out.
// CHECK: train.state frozen @m tensor<256xui8> {sharding = #dist.sharding<[512] cut[<0 over "expert" = 2>]>}
// CHECK: train.state frozen @n tensor<1xf32> {sharding = #dist.sharding<[2] cut[<0 over "expert" = 2>]>}
// CHECK-NOT: dist.local_shard
// CHECK: train.dequantize {{.*}}whole = tensor<2x128x64xf32>}
module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state frozen @c tensor<16384xui8>
  train.state frozen @m tensor<512xui8>
  train.state frozen @n tensor<2xf32>
  func.func @eval(%x: tensor<6x128xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                  %c: tensor<16384xui8> {train.binding = #train.binding<state @c>}, %m: tensor<512xui8> {train.binding = #train.binding<state @m>},
                  %n: tensor<2xf32> {train.binding = #train.binding<state @n>})
      -> (tensor<6x1x64xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<eval>} {
    %f = onnx.Cast %m {to = f32} : (tensor<512xui8>) -> tensor<512xf32>
    %s = train.scale_blocks %f, %n {block = 256 : i64} : (tensor<512xf32>, tensor<2xf32>) -> tensor<512xf32>
    %w = train.dequantize %c, %s {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<4x128x64xf32>} : (tensor<16384xui8>, tensor<512xf32>) -> tensor<4x128x64xf32>
    %y = train.grouped_matmul %x, %e, %w : (tensor<6x128xf32>, tensor<6x1xi64>, tensor<4x128x64xf32>) -> tensor<6x1x64xf32>
    return %y : tensor<6x1x64xf32>
  }
}
