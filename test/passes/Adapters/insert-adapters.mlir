// RUN: kedge-opt %s --kedge-insert-adapters="weights=in rank=2 alpha=3 dropout=0.5 scaling=rslora init=gaussian" --split-input-file --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t

// A weight stored [in, out]; dropout of its own; rslora divides by the root of the rank.
// CHECK: train.state parameter @in.lora_A.weight tensor<2x4xf32> from #tune.random<normal 5.000000e-01 : f64>
// CHECK-SAME: tune.adapter = #tune.adapter<A of @in.weight scale 2.1213203435596424 : f64 transposed true path "in">
// CHECK: train.state parameter @in.lora_B.weight tensor<6x2xf32> from unit
train.state frozen @in.weight tensor<4x6xf32> {onnx_name = "in.weight"}
train.state frozen @in.bias tensor<6xf32> {onnx_name = "in.bias"}
// CHECK: func.func @model
// CHECK: %[[Y:.*]] = onnx.Gemm
// CHECK: %[[X:.*]] = onnx.Dropout %{{.*}} {op_id = 8 : i64, ratio = 5.000000e-01 : f32, training_mode = true
// CHECK: %[[LOW:.*]] = onnx.MatMul %[[X]], %{{.*}} {{.*}}transB = true
// CHECK: %[[Z:.*]] = onnx.Gemm %[[LOW]], %{{.*}}, %[[Y]] {alpha = 2.12132{{.*}}transB = true
// CHECK: onnx.Neg %[[Z]]
func.func @model(%x: tensor<3x4xf32>, %w: tensor<4x6xf32> {train.binding = #train.binding<state @in.weight>},
                 %c: tensor<6xf32> {train.binding = #train.binding<state @in.bias>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
  %d = onnx.Dropout %x {op_id = 7 : i64, ratio = 0.1 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = onnx.Gemm %d, %w, %c : (tensor<3x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
  %z = onnx.Neg %y : (tensor<3x6xf32>) -> tensor<3x6xf32>
  return %z : tensor<3x6xf32>
}
// STATISTICS-DAG: 2 kedge-insert-adapters adapters
// STATISTICS-DAG: 90 kedge-insert-adapters parameters added

// -----

// A convolution.
// CHECK: tensor<2x3x3x3xf32>
// CHECK: tensor<8x2x1x1xf32>
train.state frozen @in.weight tensor<8x3x3x3xf32> {onnx_name = "in.weight"}
// CHECK: %[[Y:.*]] = onnx.Conv
// CHECK: %[[LOW:.*]] = onnx.Conv %{{.*}}pads = array<i64: 1, 1, 1, 1>
// CHECK: %[[D:.*]] = onnx.Conv %[[LOW]]
// CHECK: %[[S:.*]] = onnx.Mul %[[D]]
// CHECK: onnx.Add %[[Y]], %[[S]]
func.func @model(%x: tensor<2x3x8x8xf32>, %w: tensor<8x3x3x3xf32> {train.binding = #train.binding<state @in.weight>}) -> tensor<2x8x8x8xf32> attributes {train.kind = #train.kind<model>} {
  %y = onnx.Conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x8x8xf32>
  return %y : tensor<2x8x8x8xf32>
}
