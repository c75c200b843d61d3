// RUN: %python %S/make_folder.py %t/good '{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "rank_pattern": {"y.proj": 1}}' x.proj.lora_A.weight=2x4 x.proj.lora_B.weight=4x2 y.proj.lora_A.weight=1x4 y.proj.lora_B.weight=4x1 head.weight=4x4
// RUN: kedge-opt %s --kedge-insert-adapters=folder=%t/good | FileCheck %s
// RUN: %python %S/make_folder.py %t/two '{"peft_type": "LORA", "r": 2}' proj.lora_A.weight=2x4 proj.lora_B.weight=4x2
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/two 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: %python %S/make_folder.py %t/none '{"peft_type": "LORA", "r": 2}' z.proj.lora_A.weight=2x4 z.proj.lora_B.weight=4x2
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %python %S/make_folder.py %t/shape '{"peft_type": "LORA", "r": 2}' x.proj.lora_A.weight=2x5 x.proj.lora_B.weight=4x2
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/shape 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: %python %S/make_folder.py %t/whole '{"peft_type": "LORA", "r": 2}' x.proj.lora_A.weight=2x4 x.proj.lora_B.weight=4x2 head.weight=4x5
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/whole 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: %python %S/make_folder.py %t/dora '{"peft_type": "LORA", "r": 2, "use_dora": true}' x.proj.lora_A.weight=2x4 x.proj.lora_B.weight=4x2
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/dora 2>&1 | FileCheck %s --check-prefix=DORA
// RUN: %python %S/make_folder.py %t/method '{"peft_type": "LOHA"}' x.proj.hada_w1_a=4x4
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/method 2>&1 | FileCheck %s --check-prefix=METHOD
// RUN: %python %S/make_folder.py %t/rank '{"peft_type": "LORA", "r": 3}' x.proj.lora_A.weight=2x4 x.proj.lora_B.weight=4x2
// RUN: not kedge-opt %s --kedge-insert-adapters=folder=%t/rank 2>&1 | FileCheck %s --check-prefix=RANK
// TWO: error: --adapter {{.*}}two: 'proj.weight' fits 'm.x.proj.weight' and 'm.y.proj.weight': expected one parameter whose name ends so
// NONE: error: --adapter {{.*}}none: no parameter's name ends with 'z.proj.weight': it is an adapter of another model
// SHAPE: tensor 'base_model.model.x.proj.lora_A.weight' is {{.*}}, the model needs {{.*}}: it is an adapter of another model
// WHOLE: tensor 'head.weight' is {{.*}}, 'm.head.weight' is 'tensor<4x4xf32>': it is an adapter of another model
// DORA: has no tensor 'base_model.model.x.proj.lora_magnitude_vector'
// METHOD: 'peft_type' is "LOHA", expected "LORA", "IA3" or "TRAINABLE_TOKENS"
// RANK: has rank 2, 'adapter_config.json' says 3

// Ranks by pattern, values in the folder's file, and what trains whole beside the adapters.
// CHECK: @m.x.proj.lora_A.weight tensor<2x4xf32> from #train.weight<"{{.*}}good/adapter_model.safetensors"[{{[0-9]+}}, + 32]> {{.*}}scale 2.0{{.*}}path "x.proj"
// CHECK: @m.y.proj.lora_A.weight tensor<1x4xf32> {{.*}}scale 4.0
// CHECK: parameter @m.head.weight tensor<4x4xf32> from #train.weight<"{{.*}}good/adapter_model.safetensors"[{{[0-9]+}}, + 64]>
train.state frozen @m.x.proj.weight tensor<4x4xf32>
train.state frozen @m.y.proj.weight tensor<4x4xf32>
train.state parameter @m.head.weight tensor<4x4xf32>
func.func @model(%x: tensor<2x4xf32>, %w: tensor<4x4xf32> {train.binding = #train.binding<state @m.x.proj.weight>},
                 %n: tensor<4x4xf32> {train.binding = #train.binding<state @m.y.proj.weight>},
                 %h: tensor<4x4xf32> {train.binding = #train.binding<state @m.head.weight>}) -> tensor<2x4xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.MatMul %x, %w {transB = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.MatMul %0, %n {transB = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = onnx.MatMul %1, %h {transB = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
