// RUN: echo 'low op:Matmull' > %t.op && not kedge-opt %s --kedge-assign-precision=file=%t.op 2>&1 | FileCheck %s --check-prefix=OP
// OP: :1: 'low op:Matmull': no operator of this name is known
// RUN: echo 'low node:nowhere' > %t.node && not kedge-opt %s --kedge-assign-precision=file=%t.node 2>&1 | FileCheck %s --check-prefix=NODE
// NODE: :1: 'low node:nowhere' fits no node of the model
// RUN: echo 'half op:MatMul' > %t.word && not kedge-opt %s --kedge-assign-precision=file=%t.word 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: :1: 'half op:MatMul': expected low, fp32, follow or widest, then op:NAME or node:REGEX
// RUN: echo 'low node:(' > %t.regex && not kedge-opt %s --kedge-assign-precision=file=%t.regex 2>&1 | FileCheck %s --check-prefix=REGEX
// REGEX: 'low node:(': not a regular expression
// RUN: not kedge-opt %s --kedge-assign-precision=file=%t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: cannot be read: {{.*}} (--precision-policy FILE)
// RUN: not kedge-opt %s --kedge-assign-precision=type=fp8 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: unknown type 'fp8': expected bf16 or fp16
// RUN: not kedge-opt %s --kedge-assign-precision=policy=mine 2>&1 | FileCheck %s --check-prefix=POLICY
// POLICY: unknown policy 'mine': expected master or autocast
func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> tensor<4xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
