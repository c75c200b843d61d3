// RUN: split-file %s %t
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=in scaling=half" 2>&1 | FileCheck %s --check-prefix=SCALING
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=in init=zero" 2>&1 | FileCheck %s --check-prefix=INIT
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=in rank=0" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=nothing" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^norm" 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^in rank=5" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^trained rank=2" 2>&1 | FileCheck %s --check-prefix=TRAINED
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^tied rank=2" 2>&1 | FileCheck %s --check-prefix=TIED
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^both rank=2" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="weights=^batch rank=2" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not kedge-opt %t/groups.mlir --kedge-insert-adapters="weights=w rank=1" 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not kedge-opt %t/none.mlir --kedge-insert-adapters="weights=w rank=1" 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: not kedge-opt %t/model.mlir --kedge-insert-adapters="folder=%t/nowhere" 2>&1 | FileCheck %s --check-prefix=FOLDER

// SCALING: 'half': expected standard, rslora
// INIT: 'zero': expected kaiming, gaussian
// RANK: error: --lora-rank 0: expected a rank from 1
// REGEX: error: --lora '(': not a regular expression
// NONE: error: --lora 'nothing': no weight of a MatMul, Gemm or Conv has such a name
// NORM: error: --lora: 'norm' ('tensor<4xf32>') is no weight of a MatMul, Gemm or Conv
// LARGE: error: --lora: 'in' has rank 4 at most ('tensor<4x4xf32>'), and its adapter was to have 5; give a smaller --lora-rank
// TRAINED: error: --lora: 'trained' trains as it is (--train)
// TIED: error: --lora: 'tied' is also read by onnx.Neg
// BOTH: error: --lora: 'both' is used both as it is and transposed
// BATCH: error: --lora: 'batch' ('tensor<2x4x4xf32>') is no matrix
// GROUPS: error: --lora: 'w' is of a convolution in 2 groups
// MODEL: error: has no function @model to put adapters into
// FOLDER: error: --adapter: {{.*}}nowhere/adapter_config.json

//--- model.mlir
train.state frozen @in tensor<4x4xf32>
train.state frozen @norm tensor<4xf32>
train.state parameter @trained tensor<4x4xf32>
train.state frozen @tied tensor<4x4xf32>
train.state frozen @both tensor<4x4xf32>
train.state frozen @batch tensor<2x4x4xf32>
func.func @model(%x: tensor<2x4x4xf32>, %w: tensor<4x4xf32> {train.binding = #train.binding<state @in>},
                 %n: tensor<4xf32> {train.binding = #train.binding<state @norm>},
                 %p: tensor<4x4xf32> {train.binding = #train.binding<state @trained>},
                 %t: tensor<4x4xf32> {train.binding = #train.binding<state @tied>},
                 %o: tensor<4x4xf32> {train.binding = #train.binding<state @both>},
                 %b: tensor<2x4x4xf32> {train.binding = #train.binding<state @batch>}) -> tensor<2x4x4xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.MatMul %x, %w : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %1 = onnx.Mul %0, %n : (tensor<2x4x4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  %2 = onnx.MatMul %1, %p : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %3 = onnx.MatMul %2, %t : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %4 = onnx.Neg %t : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = onnx.MatMul %3, %o : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %6 = onnx.MatMul %5, %o {transB = true} : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %7 = onnx.MatMul %6, %b : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %7 : tensor<2x4x4xf32>
}

//--- groups.mlir
train.state frozen @w tensor<4x1x1x1xf32>
func.func @model(%x: tensor<1x2x4x4xf32>, %w: tensor<4x1x1x1xf32> {train.binding = #train.binding<state @w>}) -> tensor<1x4x4x4xf32> attributes {train.kind = #train.kind<model>} {
  %y = onnx.Conv %x, %w {dilations = array<i64: 1, 1>, group = 2 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %y : tensor<1x4x4x4xf32>
}

//--- none.mlir
train.state frozen @w tensor<4x1x1x1xf32>
