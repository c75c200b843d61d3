// RUN: kedge-opt %s --kedge-insert-tokens=tokens=embed=7+1-2 | FileCheck %s
// RUN: %python %S/make_folder.py %t/tokens '{"peft_type": "TRAINABLE_TOKENS", "token_indices": [7, 1, 2]}' embed.trainable_tokens_delta=3x4
// RUN: kedge-opt %s --kedge-insert-tokens=folder=%t/tokens | FileCheck %s --check-prefixes=CHECK,FOLDER
// RUN: not kedge-opt %s --kedge-insert-tokens=tokens=head=1 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-insert-tokens=tokens=embed=9 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not kedge-opt %s --kedge-insert-tokens=tokens=embed=1+0-2 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not kedge-opt %s --kedge-insert-tokens=tokens=embed=a 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: %python %S/make_folder.py %t/count '{"peft_type": "LORA", "trainable_token_indices": {"embed": [7]}}' embed.token_adapter.trainable_tokens_delta=3x4
// RUN: not kedge-opt %s --kedge-insert-tokens=folder=%t/count 2>&1 | FileCheck %s --check-prefix=COUNT
// NONE: --train-tokens 'head=1': no table that rows are looked up in has such a name
// ROWS: --train-tokens: 'embed.weight' has 9 rows, and row 9 was to train
// TWICE: --train-tokens: 'embed.weight' was to train row 1 twice
// WORD: 'embed=a': expected REGEX=ROW,FIRST-LAST,... with rows from 0
// COUNT: token_adapter.trainable_tokens_delta' is {{.*}}, adapter_config.json names 1 rows of it

// Look-ups take their rows from the parameter by a product with ones and zeros; a tied head reads a table with them in it.
// CHECK: parameter @embed.trainable_tokens_delta tensor<3x4xf32> from
// FOLDER-SAME: #train.weight<"{{.*}}tokens/adapter_model.safetensors"
// CHECK-SAME: tokens of @embed.weight {{.*}}path "embed" rows[7, 1, 2]>
// CHECK: %[[FOUND:.*]] = onnx.Gather
// CHECK: onnx.Equal
// CHECK: %[[NEW:.*]] = onnx.MatMul %{{.*}}, %[[TOKENS:.*]] : (tensor<5x3xf32>, tensor<3x4xf32>)
// CHECK: onnx.Where %{{.*}}, %[[NEW]], %[[FOUND]]
// CHECK: %[[WHOLE:.*]] = onnx.ScatterND %{{.*}}, %{{.*}}, %[[TOKENS]]
// CHECK: onnx.MatMul %{{.*}}, %[[WHOLE]]
train.state frozen @embed.weight tensor<9x4xf32> {onnx_name = "embed.weight"}
func.func @model(%ids: tensor<5xi64>, %t: tensor<9x4xf32> {train.binding = #train.binding<state @embed.weight>}) -> tensor<5x9xf32> attributes {train.kind = #train.kind<model>} {
  %x = onnx.Gather %t, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %y = onnx.MatMul %x, %t {transB = true} : (tensor<5x4xf32>, tensor<9x4xf32>) -> tensor<5x9xf32>
  return %y : tensor<5x9xf32>
}
