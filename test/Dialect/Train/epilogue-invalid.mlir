// RUN: not kedge-opt %s --split-input-file 2>&1 | FileCheck %s
// CHECK: error: 'train.fused_product' op attribute 'epilogue' failed to satisfy constraint: one of gelu, gelu_grad, sums_a, sums_b
// CHECK-COUNT-6: error: 'train.fused_product' op expected the epilogue gelu, gelu_grad, sums_a of a transposed A or sums_b of a B that is not, with the C and the second result that it takes
// CHECK: error: 'train.accumulate_product' op adds 'tensor<4x8xbf16>' times 'tensor<8x16xbf16>' to 'tensor<4x16xbf16>'; expected matrices of one type, and an accumulator of it, f32 or f64, or of f32 for 16 bits
// CHECK: error: 'train.accumulate_product' op adds 'tensor<4x8xf32>' times 'tensor<16x8xf32>' to 'tensor<4x16xf32>'; expected
// CHECK: error: 'train.accumulate_product' op adds 'tensor<4x8xf32>' times 'tensor<8x16xbf16>' to 'tensor<4x16xf32>'; expected
// CHECK-NOT: error

func.func @unknown(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %y = train.fused_product "relu" %a, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

func.func @no_bias(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>, %c: tensor<4x16xbf16>) -> tensor<4x16xbf16> {
  %y = train.fused_product "gelu" %a, %b, %c : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

func.func @input_of_gelu(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %y = train.fused_product "gelu_grad" %a, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

func.func @sums(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>, %x: tensor<4x16xbf16>) -> tensor<4x16xbf16> {
  %y, %z = train.fused_product "gelu_grad" %a, %b, %x : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<4xbf16>)
  return %y : tensor<4x16xbf16>
}

// -----

// The sums of an operand that the product does not sum over.
func.func @rows(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %y, %z = train.fused_product "sums_a" %a, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> (tensor<4x16xbf16>, tensor<8xbf16>)
  return %y : tensor<4x16xbf16>
}

// -----

func.func @transposed(%a: tensor<4x8xbf16>, %b: tensor<16x8xbf16>) -> tensor<4x16xbf16> {
  %y, %z = train.fused_product "sums_b" %a, %b {transB = true} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> (tensor<4x16xbf16>, tensor<8xbf16>)
  return %y : tensor<4x16xbf16>
}

// -----

func.func @no_sums(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %y = train.fused_product "sums_b" %a, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

func.func @narrow_sum(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>, %c: tensor<4x16xbf16>, %m: tensor<i64>) -> tensor<4x16xbf16> {
  %y = train.accumulate_product %a, %b, %c, %m : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>, tensor<i64>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

func.func @inner(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>, %c: tensor<4x16xf32>, %m: tensor<i64>) -> tensor<4x16xf32> {
  %y = train.accumulate_product %a, %b, %c, %m : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<4x16xf32>, tensor<i64>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @two_types(%a: tensor<4x8xf32>, %b: tensor<8x16xbf16>, %c: tensor<4x16xf32>, %m: tensor<i64>) -> tensor<4x16xf32> {
  %y = train.accumulate_product %a, %b, %c, %m : (tensor<4x8xf32>, tensor<8x16xbf16>, tensor<4x16xf32>, tensor<i64>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
