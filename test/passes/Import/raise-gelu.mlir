// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-gelu))' | FileCheck %s

// x * (0.5 * (1 + erf(x / sqrt 2))), as PyTorch's exporter writes it.
// CHECK-LABEL: @erf
// CHECK-NEXT: %[[Y:.*]] = onnx.Gelu %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @erf(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<1xf32>
  %0 = onnx.Div %x, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = onnx.Erf %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = onnx.Add %1, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = onnx.Mul %half, %2 : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = onnx.Mul %x, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// GPT-2's: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); x itself is a sum.
// CHECK-LABEL: @tanh
// CHECK-NEXT: %[[X:.*]] = onnx.Add %arg0, %arg1
// CHECK-NEXT: %[[Y:.*]] = onnx.Gelu %[[X]] {approximate = "tanh"}
// CHECK-NEXT: return %[[Y]]
func.func @tanh(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %cubic = onnx.Constant dense<4.471500e-02> : tensor<f32>
  %beta = onnx.Constant dense<0.797884583> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %x = onnx.Add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = onnx.Mul %x, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = onnx.Pow %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = onnx.Mul %1, %cubic : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = onnx.Add %x, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = onnx.Mul %3, %beta : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %5 = onnx.Tanh %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = onnx.Add %one, %5 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = onnx.Mul %0, %6 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// The factored form: x sqrt(2/pi) (1 + 0.044715 x x).
// CHECK-LABEL: @factored
// CHECK-NEXT: onnx.Gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT: return
func.func @factored(%x: tensor<8xf32>) -> tensor<8xf32> {
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %cubic = onnx.Constant dense<4.471500e-02> : tensor<f32>
  %beta = onnx.Constant dense<0.797884583> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %0 = onnx.Mul %x, %cubic : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = onnx.Mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = onnx.Add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = onnx.Mul %x, %beta : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = onnx.Mul %3, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = onnx.Tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = onnx.Add %5, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = onnx.Mul %6, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %8 = onnx.Mul %7, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %8 : tensor<8xf32>
}

// Another constant: no Gelu.
// CHECK-LABEL: @other
// CHECK-NOT: onnx.Gelu
// CHECK: onnx.Erf
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %root = onnx.Constant dense<1.5> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = onnx.Erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = onnx.Add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = onnx.Mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = onnx.Mul %3, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
