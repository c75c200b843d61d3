// Elementwise arithmetic, functions and casts. Logic is in LogicOps.td, activations in ActivationOps.td.
#ifndef KEDGE_ONNX_MATH_OPS
#define KEDGE_ONNX_MATH_OPS
include "kedge/Dialect/ONNX/Math/MathBase.td"

def ONNX_AddOp : ONNX_Binary<"Add", [WidestPrecision], "grad", "grad"> { let summary = "a + b"; }
def ONNX_SubOp : ONNX_Binary<"Sub", [WidestPrecision], "grad", "math.neg(grad)"> { let summary = "a - b"; }
def ONNX_MulOp : ONNX_Binary<"Mul", [WidestPrecision], "math.mul(grad, getB())", "math.mul(grad, getA())"> {
  let summary = "a b";
}
def ONNX_DivOp : ONNX_Binary<"Div", [WidestPrecision], "math.div(grad, getB())",
                             "math.neg(math.div(math.mul(grad, getResult()), getB()))"> {
  let summary = "a / b";
  let description = [{ Integers truncate toward zero; an integer divided by zero is zero. }];
}
def ONNX_NegOp : ONNX_Unary<"Neg", [], ["math.neg(grad)"]> { let summary = "-x"; }

def ONNX_CastOp : ONNX_Op<"Cast", [Pointwise, ComputesEachElement, Differentiable, PrecisionTraits<"Follow", "0">]> {
  let summary = "Converts elements to type `to`";
  let description = [{
    Floats round to nearest even, and to integers truncate; to bool means not zero. A gradient passes
    between float types only.
  }];
  let arguments = (ins ONNX_Tensor:$x, TypeAttr:$to);
  let results = (outs ONNX_Tensor:$result);
}

def ONNX_AbsOp : ONNX_Function<"Abs", "|x|; the gradient at 0 is 0">;
def ONNX_ReciprocalOp : ONNX_Function<"Reciprocal", "1 / x", "getResult()", [FullPrecision]>;
def ONNX_SqrtOp : ONNX_Function<"Sqrt", "Square root", "getResult()">;
def ONNX_ExpOp : ONNX_Function<"Exp", "e to the x", "getResult()", [FullPrecision], "math.mul(grad, getResult())">;
def ONNX_LogOp : ONNX_Function<"Log", "Natural logarithm", "getX()", [FullPrecision], "math.div(grad, getX())">;
def ONNX_ErfOp : ONNX_Function<"Erf", "Error function">;
def ONNX_SinOp : ONNX_Function<"Sin", "Sine">;
def ONNX_CosOp : ONNX_Function<"Cos", "Cosine">;
def ONNX_TanOp : ONNX_Function<"Tan", "Tangent", "getResult()">;
def ONNX_AsinOp : ONNX_Function<"Asin", "Inverse sine">;
def ONNX_AcosOp : ONNX_Function<"Acos", "Inverse cosine">;
def ONNX_AtanOp : ONNX_Function<"Atan", "Inverse tangent">;
def ONNX_SinhOp : ONNX_Function<"Sinh", "Hyperbolic sine">;
def ONNX_CoshOp : ONNX_Function<"Cosh", "Hyperbolic cosine">;
def ONNX_AsinhOp : ONNX_Function<"Asinh", "Inverse hyperbolic sine">;
def ONNX_AcoshOp : ONNX_Function<"Acosh", "Inverse hyperbolic cosine">;
def ONNX_AtanhOp : ONNX_Function<"Atanh", "Inverse hyperbolic tangent">;

/// Piecewise constant: the gradient is zero everywhere.
class ONNX_Step<string mnemonic, string text> : ONNX_Unary<mnemonic, [DifferentiableOperands]> { let summary = text; }
def ONNX_SignOp : ONNX_Step<"Sign", "-1, 0 or 1 (x itself when x is NaN)">;
def ONNX_CeilOp : ONNX_Step<"Ceil", "Rounds up">;
def ONNX_FloorOp : ONNX_Step<"Floor", "Rounds down">;
def ONNX_RoundOp : ONNX_Step<"Round", "Rounds to nearest, ties to even">;

def ONNX_MaxOp : ONNX_Binary<"Max", [WidestPrecision], "math.pointwise(F::Max, {grad, getA(), getB()})",
                             "math.pointwise(F::Max, {grad, getB(), getA()})"> {
  let summary = "The greater of a and b";
  let description = [{ NaN wins. Where both are equal each gets half of the gradient. Import makes a chain of
    an ONNX Max of more operands. }];
}
def ONNX_MinOp : ONNX_Binary<"Min", [WidestPrecision], "math.pointwise(F::Min, {grad, getA(), getB()})",
                             "math.pointwise(F::Min, {grad, getB(), getA()})"> {
  let summary = "The lesser of a and b";
  let description = [{ As onnx.Max. }];
}
def ONNX_ClipOp : ONNX_Elementwise<"Clip", [AttrSizedOperandSegments, DifferentiableOperands]> {
  let summary = "min(max(x, low), high)";
  let description = [{ A gradient passes where low < x < high, and elsewhere to the bound. }];
  let arguments = (ins ONNX_Tensor:$x, Optional<ONNX_Tensor>:$low, Optional<ONNX_Tensor>:$high);
}

def ONNX_PowOp : ONNX_Op<"Pow", [Pointwise, Differentiable, PrecisionTraits<"Full", "1">]> {
  let summary = "a to the b";
  let description = [{
    The result has a's element type; b may have another. Integers to integer powers wrap around; an integer
    to a negative power is truncated toward zero.
  }];
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$b);
  let results = (outs ONNX_Tensor:$result);
}

def ONNX_ModOp : ONNX_Binary<"Mod", [Differentiable]> {
  let summary = "Remainder";
  let description = [{ With `fmod` the sign is that of a (C's fmod and %), else that of b (Python's %). An integer
    modulo zero is zero. }];
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$b, DefaultValuedAttr<BoolAttr, "false">:$fmod);
}

def ONNX_DropoutOp : ONNX_Op<"Dropout", [DifferentiableOperands]> {
  let summary = "Dropout of the model";
  let description = [{
    The step's builder makes it `train.dropout` in training and the operand in evaluation; `mask` exists with
    `with_mask`. `op_id` keys the random numbers.
  }];
  let arguments = (ins ONNX_Tensor:$x, F32Attr:$ratio, DefaultValuedAttr<BoolAttr, "false">:$training_mode,
    I64Attr:$op_id, DefaultValuedAttr<BoolAttr, "false">:$with_mask);
  let results = (outs ONNX_Tensor:$result, Optional<ONNX_Tensor>:$mask);
  let hasVerifier = 1;
}

/// Random numbers of the model; a Bernoulli is a uniform number below its operand.
class ONNX_RandomOp<string mnemonic, dag parameters> : ONNX_Op<mnemonic> {
  let description = [{
    The step's builder makes it `train.random`, in evaluation too. `op_id` keys the numbers. Stands for the operator that
    takes its shape from a tensor as well.
  }];
  let arguments = !con((ins DenseI64ArrayAttr:$shape, TypeAttr:$dtype), parameters, (ins I64Attr:$op_id));
  let results = (outs ONNX_Tensor:$result);
}
def ONNX_RandomNormalOp : ONNX_RandomOp<"RandomNormal", (ins F32Attr:$mean, F32Attr:$scale)> {
  let summary = "Normal numbers with this mean and standard deviation";
}
def ONNX_RandomUniformOp : ONNX_RandomOp<"RandomUniform", (ins F32Attr:$low, F32Attr:$high)> {
  let summary = "Uniform numbers in [low, high)";
}
#endif
