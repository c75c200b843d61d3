// The operators of the domain com.example: Snake, x + sin(alpha x)^2 / alpha (Ziyin et al., 2020).
include "kedge/Dialect/ONNX/OnnxBase.td"

def Snake_Dialect : Dialect {
  let name = "snake";
  let cppNamespace = "::snake";
  let summary = "Operators of the domain com.example.";
}

def Snake_SnakeOp : Op<Snake_Dialect, "Snake",
                       [Pure, SameOperandsAndResultType, Pointwise, ComputesEachElement, Differentiable]> {
  let summary = "x + sin(alpha x)^2 / alpha, element by element";
  let arguments = (ins ONNX_Tensor:$x, DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` type($result)";
}
