// RUN: kedge-opt %s --kedge-choose-matrices --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// RUN: kedge-opt %s --kedge-choose-matrices=weights=head | FileCheck %s --check-prefix=NAMED
// RUN: not kedge-opt %s --kedge-choose-matrices=weights=zzz 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-choose-matrices=weights=bias 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not kedge-opt %s '--kedge-choose-matrices=weights=(' 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: kedge-opt %s --kedge-choose-matrices=neurons | FileCheck %s --check-prefix=NEURONS
// NEURONS: @w tensor<4x6xf32> {tune.orthogonal = 1 : i64}
// NONE: error: --muon 'zzz': no trained matrix has such a name
// VECTOR: error: --muon 'bias': 'bias' ('tensor<6xf32>') is no matrix: Muon updates matrices alone
// REGEX: error: --muon '(': not a regular expression
// STATISTICS: 1 kedge-choose-matrices matrices

// An embedding is looked up, and the head is the last product.
// CHECK: @table tensor<9x4xf32>{{$}}
// CHECK: @w tensor<4x6xf32> {tune.orthogonal}
// CHECK: @head tensor<6x5xf32>{{$}}
// NAMED: @w tensor<4x6xf32>{{$}}
// NAMED: @head tensor<6x5xf32> {tune.orthogonal}
train.state parameter @table tensor<9x4xf32>
train.state parameter @w tensor<4x6xf32>
train.state parameter @bias tensor<6xf32>
train.state parameter @head tensor<6x5xf32>
func.func @model(%ids: tensor<2xi64>, %t: tensor<9x4xf32> {train.binding = #train.binding<state @table>},
                 %w: tensor<4x6xf32> {train.binding = #train.binding<state @w>},
                 %b: tensor<6xf32> {train.binding = #train.binding<state @bias>},
                 %h: tensor<6x5xf32> {train.binding = #train.binding<state @head>}) -> tensor<2x5xf32> attributes {train.kind = #train.kind<model>} {
  %x = onnx.Gather %t, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %0 = onnx.Gemm %x, %w, %b : (tensor<2x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %1 = onnx.Tanh %0 : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = onnx.MatMul %1, %h : (tensor<2x6xf32>, tensor<6x5xf32>) -> tensor<2x5xf32>
  return %2 : tensor<2x5xf32>
}
