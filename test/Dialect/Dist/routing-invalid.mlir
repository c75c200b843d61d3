// RUN: not kedge-opt %s --split-input-file 2>&1 | FileCheck %s
// CHECK: error: 'dist.dispatch' op has 7 experts over 2 ranks, expected as many on each
// CHECK: error: 'dist.dispatch' op has counts 'tensor<8xi64>', expected i64 of 2 ranks with 8 experts
// CHECK: error: 'dist.dispatch' op has rows 'tensor<5x4xf32>' of 12 places and 'tensor<24x4xf32>' with their experts: expected rows of one width and type
// CHECK: error: 'dist.combine' op has rows 'tensor<6x4xf32>' of 12 places and 'tensor<24x4xf32>' with their experts: expected rows of one width and type
// CHECK: error: 'dist.combine' op is over 2 ranks along 'expert', where the module's mesh has 4

func.func @share(%x: tensor<6x4xf32>, %e: tensor<6x2xi64>, %c: tensor<14xi64>) -> tensor<24x4xf32> {
  %y = dist.dispatch %x, %e, %c {count = 7 : i64, ranks = 2 : i64} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<14xi64>) -> tensor<24x4xf32>
  return %y : tensor<24x4xf32>
}

// -----

func.func @counts(%x: tensor<6x4xf32>, %e: tensor<6x2xi64>, %c: tensor<8xi64>) -> tensor<24x4xf32> {
  %y = dist.dispatch %x, %e, %c {count = 8 : i64, ranks = 2 : i64} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8xi64>) -> tensor<24x4xf32>
  return %y : tensor<24x4xf32>
}

// -----

func.func @rows(%x: tensor<5x4xf32>, %e: tensor<6x2xi64>, %c: tensor<16xi64>) -> tensor<24x4xf32> {
  %y = dist.dispatch %x, %e, %c {count = 8 : i64, ranks = 2 : i64} : (tensor<5x4xf32>, tensor<6x2xi64>, tensor<16xi64>) -> tensor<24x4xf32>
  return %y : tensor<24x4xf32>
}

// -----

func.func @back(%x: tensor<24x4xf32>, %e: tensor<6x2xi64>, %c: tensor<16xi64>) -> tensor<6x4xf32> {
  %y = dist.combine %x, %e, %c {count = 8 : i64, ranks = 2 : i64} : (tensor<24x4xf32>, tensor<6x2xi64>, tensor<16xi64>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// -----

module attributes {dist.mesh = #dist.mesh<["expert"] = [4]>} {
  func.func @mesh(%x: tensor<24x4xf32>, %e: tensor<6x2xi64>, %c: tensor<16xi64>) -> tensor<12x4xf32> {
    %y = dist.combine %x, %e, %c {count = 8 : i64, ranks = 2 : i64} : (tensor<24x4xf32>, tensor<6x2xi64>, tensor<16xi64>) -> tensor<12x4xf32>
    return %y : tensor<12x4xf32>
  }
}
