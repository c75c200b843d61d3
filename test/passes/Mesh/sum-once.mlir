// RUN: kedge-opt %s --kedge-sum-once --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS: 2 kedge-sum-once gradients

// The sum, a cast behind it, and the part that ranks along `data` keep: all are made of the summands that micro-batches add up.
// Accumulators of 16 bits stay, and so does a sum that something else reads.
module attributes {dist.mesh = #dist.mesh<["data", "tensor"] = [2, 2]>} {
  train.state accumulator @a tensor<4xf32>
  train.state accumulator @b tensor<4xf32>
  train.state accumulator @c tensor<4xbf16>
  train.state accumulator @d tensor<4xf32>
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {train.binding = #train.binding<input "x">}, %[[Z:[a-z0-9]*]]: {{.*}}<input "z">}, %[[N:[a-z0-9]*]]: {{.*}}<scalar "micro">}, %[[A:[a-z0-9]*]]: {{.*}}<state @a>}, %[[B:[a-z0-9]*]]: {{.*}}<state @b>}, %[[C:[a-z0-9]*]]: {{.*}}<state @c>}, %[[D:[a-z0-9]*]]: {{.*}}<state @d>}) ->
// CHECK-DAG: train.accumulate %[[A]], %[[X]], %[[N]]
// CHECK-DAG: %[[PART:.*]] = dist.reduce_scatter %[[Z]] {{.*}} : (tensor<8xf32>) -> tensor<4xf32>
// CHECK-DAG: train.accumulate %[[B]], %[[PART]], %[[N]] {{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<i64>)
// CHECK-DAG: %[[OWN:.*]] = onnx.Cast
// CHECK-DAG: train.accumulate %[[C]], %[[OWN]], %[[N]]
// CHECK-DAG: train.accumulate %[[D]], %[[READ:.*]], %[[N]]
// CHECK: return {{.*}}, %[[READ]] :
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %z: tensor<8xf32> {train.binding = #train.binding<input "z">},
      %n: tensor<i64> {train.binding = #train.binding<scalar "micro">}, %a: tensor<4xf32> {train.binding = #train.binding<state @a>},
      %b: tensor<4xf32> {train.binding = #train.binding<state @b>}, %c: tensor<4xbf16> {train.binding = #train.binding<state @c>},
      %d: tensor<4xf32> {train.binding = #train.binding<state @d>})
      -> (tensor<4xf32> {train.binding = #train.binding<state @a>}, tensor<4xf32> {train.binding = #train.binding<state @b>},
          tensor<4xbf16> {train.binding = #train.binding<state @c>}, tensor<4xf32> {train.binding = #train.binding<state @d>},
          tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    %0 = dist.all_reduce %x {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, kind = "sum", ranks = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = train.accumulate %a, %0, %n {kedge.place = #kedge.place<backward "", "y">} : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    %2 = dist.all_reduce %z {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, kind = "sum", ranks = 2 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = onnx.Cast %2 {kedge.place = #kedge.place<backward "", "y">, to = bf16} : (tensor<8xf32>) -> tensor<8xbf16>
    %4 = dist.reduce_scatter %3 {kedge.place = #kedge.place<backward "", "y">, ranks = 2 : i64} : (tensor<8xbf16>) -> tensor<4xbf16>
    %5 = train.accumulate %b, %4, %n {kedge.place = #kedge.place<backward "", "y">} : (tensor<4xf32>, tensor<4xbf16>, tensor<i64>) -> tensor<4xf32>
    %6 = dist.all_reduce %x {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, kind = "sum", ranks = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %7 = onnx.Cast %6 {kedge.place = #kedge.place<backward "", "y">, to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    %8 = train.accumulate %c, %7, %n {kedge.place = #kedge.place<backward "", "y">} : (tensor<4xbf16>, tensor<4xbf16>, tensor<i64>) -> tensor<4xbf16>
    %9 = dist.all_reduce %x {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, kind = "sum", ranks = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %10 = train.accumulate %d, %9, %n {kedge.place = #kedge.place<backward "", "y">} : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    return %1, %5, %8, %10, %9 : tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>
  }
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[A:[a-z0-9]*]]: {{.*}}<state @a>}, %[[B:[a-z0-9]*]]: {{.*}}<state @b>}, %[[D:[a-z0-9]*]]: {{.*}}<state @d>}) ->
// CHECK-DAG: %[[SA:.*]] = dist.all_reduce %[[A]] {axis = "tensor"{{.*}}kind = "sum"
// CHECK-DAG: %[[SB:.*]] = dist.all_reduce %[[B]] {axis = "tensor"
// CHECK: onnx.Add %[[SA]], %[[SB]]
// CHECK: onnx.Add %{{.*}}, %[[D]]
  func.func @update(%a: tensor<4xf32> {train.binding = #train.binding<state @a>}, %b: tensor<4xf32> {train.binding = #train.binding<state @b>},
      %d: tensor<4xf32> {train.binding = #train.binding<state @d>}) -> (tensor<4xf32> {train.binding = #train.binding<output "g">})
      attributes {train.kind = #train.kind<update>} {
    %0 = onnx.Add %a, %b {kedge.place = #kedge.place<update "", "y">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = onnx.Add %0, %d {kedge.place = #kedge.place<update "", "y">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
