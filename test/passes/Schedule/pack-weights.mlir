// RUN: kedge-opt %s --split-input-file --kedge-pack-weights --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-pack-weights matrices packed
// STATISTICS: 8 kedge-pack-weights products of packed matrices

// Once per way in which the matrix is read, before its first product.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[A:.*]]: tensor<2x130xf32>, %[[W:.*]]: tensor<130x130xf32>, %[[C:.*]]: tensor<2x130xf32>, %[[B:.*]]: tensor<130xf32>
// CHECK-NEXT: %[[P:.*]] = train.pack_columns %[[W]] : (tensor<130x130xf32>) -> tensor<5x130x32xf32>
// CHECK-NEXT: %[[X:.*]] = train.packed_product %[[A]], %[[P]] :
// CHECK-NEXT: %[[Q:.*]] = train.pack_columns %[[W]] {transB = true}
// CHECK-NEXT: %[[Y:.*]] = train.packed_product %[[X]], %[[Q]], %[[C]] :
// CHECK-NEXT: train.packed_product %[[Y]], %[[P]], %[[B]] :
// CHECK-COUNT-5: train.packed_product
// CHECK-NOT: onnx.Gemm
func.func @packed(%a: tensor<2x130xf32>, %w: tensor<130x130xf32>, %c: tensor<2x130xf32>, %b: tensor<130xf32>) -> tensor<2x130xf32> {
  %0 = onnx.Gemm %a, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %1 = onnx.Gemm %0, %w, %c {transB = true} : (tensor<2x130xf32>, tensor<130x130xf32>, tensor<2x130xf32>) -> tensor<2x130xf32>
  %2 = onnx.Gemm %1, %w, %b : (tensor<2x130xf32>, tensor<130x130xf32>, tensor<130xf32>) -> tensor<2x130xf32>
  %3 = onnx.Gemm %2, %w {transB = true} : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %4 = onnx.Gemm %3, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %5 = onnx.Gemm %4, %w {transB = true} : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %6 = onnx.Gemm %5, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %7 = onnx.Gemm %6, %w {transB = true} : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  return %7 : tensor<2x130xf32>
}

// -----

// Three products; a product that is scaled; a small matrix; many rows.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: train.pack
// CHECK: return
func.func @stay(%a: tensor<2x130xf32>, %w: tensor<130x130xf32>, %s: tensor<2x64xf32>, %v: tensor<64x64xf32>,
                %l: tensor<64x130xf32>, %m: tensor<130x130xf32>) -> (tensor<2x130xf32>, tensor<2x64xf32>, tensor<64x130xf32>) {
  %0 = onnx.Gemm %a, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %1 = onnx.Gemm %0, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %2 = onnx.Gemm %1, %w : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %3 = onnx.Gemm %2, %w {alpha = 2.0 : f32} : (tensor<2x130xf32>, tensor<130x130xf32>) -> tensor<2x130xf32>
  %4 = onnx.Gemm %s, %v : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %5 = onnx.Gemm %4, %v : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %6 = onnx.Gemm %5, %v : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %7 = onnx.Gemm %6, %v : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %8 = onnx.Gemm %l, %m : (tensor<64x130xf32>, tensor<130x130xf32>) -> tensor<64x130xf32>
  %9 = onnx.Gemm %8, %m : (tensor<64x130xf32>, tensor<130x130xf32>) -> tensor<64x130xf32>
  %10 = onnx.Gemm %9, %m : (tensor<64x130xf32>, tensor<130x130xf32>) -> tensor<64x130xf32>
  %11 = onnx.Gemm %10, %m : (tensor<64x130xf32>, tensor<130x130xf32>) -> tensor<64x130xf32>
  return %3, %7, %11 : tensor<2x130xf32>, tensor<2x64xf32>, tensor<64x130xf32>
}
