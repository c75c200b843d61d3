// RUN: kedge-opt %s --kedge-dequantize-again --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-dequantize-again clones

// What leads from codes to values runs again for the reader far behind, and not for the near one.
train.state frozen @c tensor<4xui8> {tune.encoding = #tune.encoding<int8 codes of tensor<4xf32> double false>}
train.state frozen @plain tensor<4xf32>
// CHECK-LABEL: func.func @f
// CHECK: %[[H:.*]] = sched.library "half"
// CHECK: %[[W:.*]] = sched.library "whole"(%[[H]])
// CHECK: sched.library "near"(%{{.*}}, %[[W]])
// CHECK: sched.library "near"(%{{.*}}, %[[W]])
// CHECK-COUNT-4: sched.library "b"
// CHECK: %[[H2:.*]] = sched.library "half"{{.*}}clone = 1
// CHECK: %[[W2:.*]] = sched.library "whole"(%[[H2]]){{.*}}clone = 2
// CHECK: sched.library "far"(%{{.*}}, %[[W2]], %
func.func @f(%c: tensor<4xui8> {train.binding = #train.binding<state @c>}, %p: tensor<4xf32> {train.binding = #train.binding<state @plain>}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %h = sched.library "half"(%c) {} {} : (tensor<4xui8>) -> tensor<4xf32>
  %w = sched.library "whole"(%h) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %q = sched.library "plain"(%p) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = sched.library "near"(%x, %w) {} {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = sched.library "near"(%1, %w) {} {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sched.library "b"(%2) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = sched.library "b"(%3) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = sched.library "b"(%4) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = sched.library "b"(%5) {} {} : (tensor<4xf32>) -> tensor<4xf32>
  %7 = sched.library "far"(%6, %w, %q) {} {} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}
