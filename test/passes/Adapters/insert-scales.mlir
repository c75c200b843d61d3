// RUN: kedge-opt %s --kedge-insert-scales="weights=up|down inputs=down" | FileCheck %s
// RUN: %python %S/make_folder.py %t/ia3 '{"peft_type": "IA3", "feedforward_modules": ["down"]}' up.ia3_l=6x1 down.ia3_l=1x6
// RUN: kedge-opt %s --kedge-insert-scales=folder=%t/ia3 | FileCheck %s --check-prefixes=CHECK,FOLDER
// RUN: not kedge-opt %s --kedge-insert-scales=weights=none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-insert-scales="weights=up inputs=down" 2>&1 | FileCheck %s --check-prefix=INPUTS
// RUN: not kedge-opt %s --kedge-insert-scales=weights=table 2>&1 | FileCheck %s --check-prefix=MATRIX
// RUN: not kedge-opt %s --kedge-insert-scales=weights=head 2>&1 | FileCheck %s --check-prefix=TRAINS
// RUN: not kedge-opt %s --kedge-insert-adapters="weights=up rank=1" --kedge-insert-scales=weights=up 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: %python %S/make_folder.py %t/shape '{"peft_type": "IA3"}' up.ia3_l=5x1
// RUN: not kedge-opt %s --kedge-insert-scales=folder=%t/shape 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: %python %S/make_folder.py %t/conv '{"peft_type": "IA3"}' up.ia3_l=1x6x1x1
// RUN: not kedge-opt %s --kedge-insert-scales=folder=%t/conv 2>&1 | FileCheck %s --check-prefix=CONV
// NONE: --ia3 'none': no weight of a MatMul or Gemm has such a name
// INPUTS: --ia3-inputs 'down': no weight that --ia3 names has such a name
// MATRIX: --ia3: 'table' ({{.*}}) is no matrix of a product: scales are not available yet for others
// TRAINS: --ia3: 'head.weight' trains as it is (--train)
// TWO: --ia3: 'up.weight' has the adapter 'up.lora_
// SHAPE: tensor 'base_model.model.up.ia3_l' is {{.*}}, the model needs {{.*}}: it is an adapter of another model
// CONV: scales are not available yet but for linear modules

// Outputs are scaled behind the bias, of which the mark tells: a merged file scales it, too.
// CHECK: parameter @up.ia3_l tensor<6x1xf32> from
// FOLDER-SAME: #train.weight<"{{.*}}ia3/adapter_model.safetensors"
// CHECK-SAME: output_scale of @up.weight scale 1.0{{.*}} transposed true path "up" bias @up.bias>
// CHECK: parameter @down.ia3_l tensor<1x6xf32> {{.*}}input_scale of @down.weight scale 1.0{{.*}} transposed false path "down">
// CHECK: onnx.MatMul
// CHECK: %[[SUM:.*]] = onnx.Add
// CHECK: %[[ROW:.*]] = onnx.Reshape {{.*}}tensor<6x1xf32>) -> tensor<6xf32>
// CHECK: %[[UP:.*]] = onnx.Mul %[[SUM]], %[[ROW]]
// CHECK: %[[IN:.*]] = onnx.Mul %[[UP]], %{{.*}} : (tensor<3x6xf32>, tensor<1x6xf32>)
// CHECK: onnx.MatMul %[[IN]]
train.state frozen @table tensor<9x4xf32> {onnx_name = "table"}
train.state frozen @up.weight tensor<4x6xf32> {onnx_name = "up.weight"}
train.state frozen @up.bias tensor<6xf32> {onnx_name = "up.bias"}
train.state frozen @down.weight tensor<4x6xf32> {onnx_name = "down.weight"}
train.state parameter @head.weight tensor<4x4xf32> {onnx_name = "head.weight"}
func.func @model(%ids: tensor<3xi64>, %t: tensor<9x4xf32> {train.binding = #train.binding<state @table>},
                 %w: tensor<4x6xf32> {train.binding = #train.binding<state @up.weight>},
                 %c: tensor<6xf32> {train.binding = #train.binding<state @up.bias>},
                 %d: tensor<4x6xf32> {train.binding = #train.binding<state @down.weight>},
                 %h: tensor<4x4xf32> {train.binding = #train.binding<state @head.weight>}) -> tensor<3x4xf32> attributes {train.kind = #train.kind<model>} {
  %x = onnx.Gather %t, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %y = onnx.MatMul %x, %w : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %b = onnx.Add %y, %c : (tensor<3x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
  %z = onnx.MatMul %b, %d {transB = true} : (tensor<3x6xf32>, tensor<4x6xf32>) -> tensor<3x4xf32>
  %o = onnx.MatMul %z, %h : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  return %o : tensor<3x4xf32>
}
