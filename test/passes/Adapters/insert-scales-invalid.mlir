// RUN: not kedge-opt %s --kedge-insert-scales=weights=read 2>&1 | FileCheck %s --check-prefix=READ
// RUN: not kedge-opt %s --kedge-insert-scales=weights=both 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not kedge-opt %s --kedge-insert-scales=weights=shared 2>&1 | FileCheck %s --check-prefix=BIASES
// RUN: not kedge-opt %s --kedge-insert-scales=weights=sum 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not kedge-opt %s --kedge-insert-scales=weights=trained 2>&1 | FileCheck %s --check-prefix=TRAINS
// READ: --ia3: 'read.weight' is also read by onnx.Tanh, which a scale would not change: a merged weight could not say so
// BOTH: --ia3: 'both.weight' is used both as it is and transposed: one scale cannot fit both
// BIASES: a scale of 'shared.weight' is not available yet: its products have several biases
// SUM: a scale of 'sum.weight' is not available yet: what is added to its product is no bias
// TRAINS: a scale of 'trained.weight' is not available yet: its bias trains as it is
train.state frozen @read.weight tensor<4x4xf32> {onnx_name = "read.weight"}
train.state frozen @both.weight tensor<4x4xf32> {onnx_name = "both.weight"}
train.state frozen @shared.weight tensor<4x4xf32> {onnx_name = "shared.weight"}
train.state frozen @sum.weight tensor<4x4xf32> {onnx_name = "sum.weight"}
train.state frozen @trained.weight tensor<4x4xf32> {onnx_name = "trained.weight"}
train.state frozen @a.bias tensor<4xf32> {onnx_name = "a.bias"}
train.state parameter @b.bias tensor<4xf32> {onnx_name = "b.bias"}
func.func @model(%x: tensor<3x4xf32>, %r: tensor<4x4xf32> {train.binding = #train.binding<state @read.weight>},
                 %t: tensor<4x4xf32> {train.binding = #train.binding<state @both.weight>},
                 %w: tensor<4x4xf32> {train.binding = #train.binding<state @shared.weight>},
                 %s: tensor<4x4xf32> {train.binding = #train.binding<state @sum.weight>},
                 %u: tensor<4x4xf32> {train.binding = #train.binding<state @trained.weight>},
                 %a: tensor<4xf32> {train.binding = #train.binding<state @a.bias>},
                 %b: tensor<4xf32> {train.binding = #train.binding<state @b.bias>}) -> (tensor<3x4xf32>, tensor<4x4xf32>) attributes {train.kind = #train.kind<model>} {
  %0 = onnx.MatMul %x, %r : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %1 = onnx.Tanh %r : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.MatMul %0, %t : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %3 = onnx.MatMul %2, %t {transB = true} : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %4 = onnx.Gemm %3, %w, %a : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %5 = onnx.MatMul %4, %w : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %6 = onnx.Gemm %5, %s, %5 : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %7 = onnx.Gemm %6, %u, %b : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %7, %1 : tensor<3x4xf32>, tensor<4x4xf32>
}
