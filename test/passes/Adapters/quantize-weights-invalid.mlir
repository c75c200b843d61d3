// RUN: not kedge-opt %s --kedge-quantize-weights="weights=a=nf4" 2>&1 | FileCheck %s
// CHECK: error: has no function @model whose weights could be quantised
train.state frozen @a tensor<16x16xf32>
