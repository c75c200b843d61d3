// Elementwise arithmetic, functions and casts. Logic is in LogicOps.td, activations in ActivationOps.td.
#ifndef KEDGE_ONNX_MATH_OPS
#define KEDGE_ONNX_MATH_OPS
include "kedge/Dialect/ONNX/MathBase.td"

def ONNX_AddOp : ONNX_Binary<"Add", [Differentiable]> { let summary = "a + b"; }
def ONNX_SubOp : ONNX_Binary<"Sub", [Differentiable]> { let summary = "a - b"; }
def ONNX_MulOp : ONNX_Binary<"Mul", [Differentiable]> { let summary = "a b"; }
def ONNX_DivOp : ONNX_Binary<"Div", [Differentiable]> {
  let summary = "a / b";
  let description = [{ Integers truncate toward zero; an integer divided by zero is zero. }];
}
def ONNX_NegOp : ONNX_Unary<"Neg", [Differentiable]> { let summary = "-x"; }

def ONNX_CastOp : ONNX_Op<"Cast", [Pointwise, Differentiable]> {
  let summary = "Converts elements to type `to`";
  let description = [{
    Floats round to nearest even, and to integers truncate; to bool means not zero. A gradient passes
    between float types only.
  }];
  let arguments = (ins ONNX_Tensor:$x, TypeAttr:$to);
  let results = (outs ONNX_Tensor:$result);
}
#endif
