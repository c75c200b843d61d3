// Comparisons, logic, bits, selection.
#ifndef KEDGE_ONNX_LOGIC_OPS
#define KEDGE_ONNX_LOGIC_OPS
include "kedge/Dialect/ONNX/Math/MathBase.td"

class ONNX_Comparison<string mnemonic, string text> : ONNX_Test<mnemonic> {
  let summary = text;
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$b);
}
def ONNX_EqualOp : ONNX_Comparison<"Equal", "a = b">;
def ONNX_LessOp : ONNX_Comparison<"Less", "a < b">;
def ONNX_GreaterOp : ONNX_Comparison<"Greater", "a > b">;
def ONNX_LessOrEqualOp : ONNX_Comparison<"LessOrEqual", "a <= b">;
def ONNX_GreaterOrEqualOp : ONNX_Comparison<"GreaterOrEqual", "a >= b">;

def ONNX_IsNaNOp : ONNX_Test<"IsNaN"> {
  let summary = "Whether x is not a number";
  let arguments = (ins ONNX_Tensor:$x);
}
def ONNX_IsInfOp : ONNX_Test<"IsInf"> {
  let summary = "Whether x is an infinity; each sign can be left out";
  let arguments = (ins ONNX_Tensor:$x, DefaultValuedAttr<BoolAttr, "true">:$detect_negative,
    DefaultValuedAttr<BoolAttr, "true">:$detect_positive);
}

class ONNX_Bits<string mnemonic, string text> : ONNX_Binary<mnemonic> { let summary = text; }
def ONNX_AndOp : ONNX_Bits<"And", "Conjunction of bools">;
def ONNX_OrOp : ONNX_Bits<"Or", "Disjunction of bools">;
def ONNX_XorOp : ONNX_Bits<"Xor", "Whether bools differ">;
def ONNX_NotOp : ONNX_Unary<"Not"> { let summary = "Negation of bools"; }
def ONNX_BitwiseAndOp : ONNX_Bits<"BitwiseAnd", "Bits of both">;
def ONNX_BitwiseOrOp : ONNX_Bits<"BitwiseOr", "Bits of either">;
def ONNX_BitwiseXorOp : ONNX_Bits<"BitwiseXor", "Bits that differ">;
def ONNX_BitwiseNotOp : ONNX_Unary<"BitwiseNot"> { let summary = "All bits flipped"; }
def ONNX_BitShiftOp : ONNX_Binary<"BitShift"> {
  let summary = "a shifted by b bits";
  let description = [{ A shift by the width of the type or more gives zero; signed integers shifted right give copies of the sign. }];
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$b, BoolAttr:$left);
}

def ONNX_WhereOp : ONNX_Op<"Where", [Pointwise, ComputesEachElement, DifferentiableOperands, WidestPrecision]> {
  let summary = "a where the condition holds, else b";
  let arguments = (ins ONNX_Tensor:$condition, ONNX_Tensor:$a, ONNX_Tensor:$b);
  let results = (outs ONNX_Tensor:$result);
}
#endif
