// RUN: not kedge-opt %s --kedge-choose-recompute=policy=half 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not kedge-opt %s --kedge-choose-recompute=policy=nth=0 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not kedge-opt %s --kedge-form-clusters --kedge-choose-recompute=budget=much 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not kedge-opt %s --kedge-choose-recompute=device=abacus 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: echo '{"name": "bare", "memory_gb_per_s": 1}' > %t.json
// RUN: not kedge-opt %s --kedge-choose-recompute=device=%t.json 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not kedge-opt %s --kedge-choose-recompute="offload host-budget=50%%" 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not kedge-opt %s --kedge-choose-recompute=device=h100 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not kedge-opt %s --kedge-choose-recompute=device=h100 2>&1 | grep -c error: | FileCheck %s --check-prefix=ONCE

// POLICY: for the --policy option: 'half': expected none, full, segments=N, nth=N, sqrt, attention or auto
// COUNT: for the --policy option: 'nth=0': expected a whole number of at least 1 after nth=
// BUDGET: for the --budget option: 'much': {{.*}}; expected bytes (17179869184, 16GiB), a share of the unconstrained peak (80%)
// DEVICE: error: --device abacus: unknown device; expected {{.*}} or a file NAME.json
// FILE: error: {{.*}}: unknown key 'memory_gb_per_s' (docs/guide/devices.md lists all)
// HOST: for the --host-budget option: '50%' value invalid for
// LEVEL: choose-recompute-invalid.mlir:[[#@LINE+3]]:8: error: 'onnx.Tanh' op is not scheduled: run kedge-form-clusters first
// ONCE: {{^1$}}
func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %y = onnx.Tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
