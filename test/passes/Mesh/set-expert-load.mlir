// RUN: echo '[[1, 3, 0, 0]]' > %t.json
// RUN: kedge-opt %s --kedge-set-expert-load="load=%t.json" --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-set-expert-load="load=%t.json" --kedge-cut-experts 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: kedge-opt %s --kedge-set-expert-load="load=%t.json capacity=1.5" 2>&1 | FileCheck %s --check-prefix=LITTLE
// RUN: echo '{"step": 0, "experts": {"y": [3, 9, 0, 0]}}' > %t.jsonl
// RUN: kedge-opt %s --kedge-set-expert-load="load=%t.jsonl" 2>&1 | FileCheck %s
// RUN: echo '{"z": [1, 1, 1, 1]}' > %t.other.json
// RUN: not kedge-opt %s --kedge-set-expert-load="load=%t.other.json" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: printf '[\n[1, 1]]' > %t.few.json
// RUN: not kedge-opt %s --kedge-set-expert-load="load=%t.few.json" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: printf '[\n[1, 1, 1, 1],\n[1, 1, 1, 1]]' > %t.two.json
// RUN: not kedge-opt %s --kedge-set-expert-load="load=%t.two.json" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: printf '[\n[1, -1]]' > %t.below.json
// RUN: not kedge-opt %s --kedge-set-expert-load="load=%t.below.json" 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: printf '[[1,\n' > %t.broken.json
// RUN: not kedge-opt %s --kedge-set-expert-load="load=%t.broken.json" 2>&1 | FileCheck %s --check-prefix=BROKEN

// CHECK-DAG: the busiest rank gets 2.00 times its even share of rows, in 'y'; --expert-capacity 2.00 has room for that
// CHECK-DAG: train.grouped_matmul {{.*}}load = array<f64: 2.500000e-01, 7.500000e-01, 0.000000e+00, 0.000000e+00>
// CUT: dist.dispatch {{.*}}expected = 12 : i64
// CUT: train.grouped_matmul {{.*}}expected = 12 : i64
// CUT-NOT: load =
// LITTLE: --expert-capacity 1.5{{0*}}: by --expert-load {{.*}} a rank gets 2.00 times its even share of rows in 'y', {{.*}}give --expert-capacity 2.00 or more
// OTHER: error: --expert-load {{.*}}other.json:1: it has no layer 'y'
// FEW: error: --expert-load {{.*}}few.json:2: it has 2 experts for 'y', which has 4
// TWO: error: --expert-load {{.*}}two.json:3: it has 2 layers, and the model 1
// BELOW: below.json:2: a layer says -1 of expert 1: no number of rows
// BROKEN: broken.json:2: it is no JSON

module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state parameter @w tensor<4x3x5xf32>
  func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">},
                  %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                  %w: tensor<4x3x5xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<6x1x5xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    %y = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<4x3x5xf32>) -> tensor<6x1x5xf32>
    return %y : tensor<6x1x5xf32>
  }
}
