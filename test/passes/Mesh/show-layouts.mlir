// RUN: kedge-opt %s --kedge-propagate-shardings --kedge-show-layouts -o /dev/null 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-propagate-shardings --kedge-localize --kedge-show-layouts -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: kedge-opt %s --kedge-propagate-shardings --kedge-show-layouts --kedge-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS

// Columns, then rows: the second product is a sum over the ranks. What no rule cuts is whole.
// CHECK: // @step
// CHECK-NEXT: //   %[[X:[a-z0-9]+]]  tensor<5x4xf32>  whole{{$}}
// CHECK-NEXT: //   %[[UP:[a-z0-9]+]]  tensor<4x6xf32>  dim 1 cut over "tensor" = 2, state @up
// CHECK-NEXT: //   %[[DOWN:[a-z0-9]+]]  tensor<6x4xf32>  dim 0 cut over "tensor" = 2, state @down
// CHECK-NEXT: //   %[[A:[a-z0-9]+]]  tensor<5x6xf32>  dim 1 cut over "tensor" = 2
// CHECK-NEXT: %[[A]] = onnx.MatMul %[[X]], %[[UP]]
// CHECK-NEXT: //   %[[C:[a-z0-9]+]]  tensor<5x4xf32>  whole, a sum over the ranks
// CHECK-NEXT: %[[C]] = onnx.MatMul %[[A]], %[[DOWN]]
// LOCAL: tensor<4x3xf32>  a rank's part of 4x6, dim 1 cut over "tensor" = 2, state @up
// LOCAL: tensor<3x4xf32>  a rank's part of 6x4, dim 0 cut over "tensor" = 2, state @down
// LOCAL: tensor<5x3xf32>  of each rank
// STATISTICS-DAG: 5  kedge-show-layouts  values shown
// STATISTICS-DAG: 3  kedge-show-layouts  values cut
#forward = #kedge.place<forward "", "y">
module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
  train.state parameter @up tensor<4x6xf32>
  train.state parameter @down tensor<6x4xf32>
  func.func @step(%x: tensor<5x4xf32> {train.binding = #train.binding<input "x">},
      %up: tensor<4x6xf32> {train.binding = #train.binding<state @up>},
      %down: tensor<6x4xf32> {train.binding = #train.binding<state @down>})
      -> (tensor<5x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    %a = onnx.MatMul %x, %up {kedge.place = #forward} : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    %c = onnx.MatMul %a, %down {kedge.place = #forward} : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
    return %c : tensor<5x4xf32>
  }
}
