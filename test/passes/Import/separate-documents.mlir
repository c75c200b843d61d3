// RUN: kedge-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(kedge-separate-documents))' | FileCheck %s

// Each attention reads the borders of its rows; a window stays.
// CHECK-LABEL: func.func @model
// CHECK-SAME: %arg1: tensor<2x9xi64> {train.binding = #train.binding<input "document_borders">}
// CHECK: train.attention %arg0, %arg0, %arg0 documents(%arg1) sees(causal) {scale = 2.500000e-01 : f64}
// CHECK: train.attention %{{.*}}, %arg0, %arg0 documents(%arg1) sees(causal, left = 3) {scale = 2.500000e-01 : f64}
func.func @model(%q: tensor<2x1x8x16xf32>) -> tensor<2x1x8x16xf32> attributes {train.kind = #train.kind<model>} {
  %0:2 = train.attention %q, %q, %q sees(causal) {scale = 0.25} : (tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
  %1:2 = train.attention %0#0, %q, %q sees(causal, left = 3) {scale = 0.25} : (tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
  return %1#0 : tensor<2x1x8x16xf32>
}

// -----

// expected-error @+1 {{--documents: the model has no attention to keep documents apart in}}
func.func @model(%q: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {train.kind = #train.kind<model>} {
  return %q : tensor<2x8xf32>
}

// -----

func.func @model(%q: tensor<2x1x8x16xf32>, %k: tensor<2x1x9x16xf32>) -> tensor<2x1x8x16xf32> attributes {train.kind = #train.kind<model>} {
  // expected-error @+1 {{reads 9 keys for 8 queries: documents in such an attention are not available yet}}
  %0:2 = train.attention %q, %k, %k {scale = 0.25} : (tensor<2x1x8x16xf32>, tensor<2x1x9x16xf32>, tensor<2x1x9x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
  return %0#0 : tensor<2x1x8x16xf32>
}

// -----

// A product of its own would see across borders.
func.func @model(%q: tensor<2x1x8x16xf32>, %s: tensor<2x1x8x8xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8x8xf32>) attributes {train.kind = #train.kind<model>} {
  %0:2 = train.attention %q, %q, %q {scale = 0.25} : (tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
  // expected-error @+1 {{belongs to no attention that is recognised: its documents cannot be kept apart}}
  %1 = onnx.Softmax %s {axis = 3} : (tensor<2x1x8x8xf32>) -> tensor<2x1x8x8xf32>
  return %0#0, %1 : tensor<2x1x8x16xf32>, tensor<2x1x8x8xf32>
}

// -----

func.func @model(%q: tensor<2x1x8x16xf32>, %r: tensor<4x1x4x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<4x1x4x16xf32>) attributes {train.kind = #train.kind<model>} {
  %0:2 = train.attention %q, %q, %q {scale = 0.25} : (tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
  // expected-error @+1 {{works on 4 rows of 4 tokens, and another attention on 2 of 8: documents in such a model are not available yet}}
  %1:2 = train.attention %r, %r, %r {scale = 0.25} : (tensor<4x1x4x16xf32>, tensor<4x1x4x16xf32>, tensor<4x1x4x16xf32>) -> (tensor<4x1x4x16xf32>, tensor<4x1x4xf32>)
  return %0#0, %1#0 : tensor<2x1x8x16xf32>, tensor<4x1x4x16xf32>
}
