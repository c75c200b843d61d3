// RUN: not kedge-opt %s --kedge-choose-matrices 2>&1 | FileCheck %s
// CHECK: error: has no function @model with matrices to choose from
train.state frozen @a tensor<16x16xf32>
