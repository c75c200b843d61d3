// The float types that an op works in when a model is cast to 16 bits.
#ifndef KEDGE_PRECISION_OP_INTERFACE
#define KEDGE_PRECISION_OP_INTERFACE
include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    The class of an op in PyTorch's autocast lists; an op without this interface follows its
    operands. Under the policy `master` every value that depends on a parameter is 16-bit whatever the class, but for
    losses. Statistics that an op gives in f32 whatever its operands are (norms, log-sum-exp) follow from its type
    inference.
  }];
  let methods = [
    InterfaceMethod<"The op's class.", "::kedge::PrecisionClass", "precisionClass">,
    InterfaceMethod<[{Whether this operand may have another float type than the result has, so that it is never
      cast: running statistics, rotary angles, an additive mask.}],
      "bool", "takesAnyFloat", (ins "unsigned":$operand)>
  ];
}

/// Operands from number `firstAny` on are taken in any float type.
class PrecisionIs<string kind, string firstAny>
    : ParamNativeOpTrait<"PrecisionIs", "::kedge::PrecisionClass::" # kind # ", " # firstAny> {
  let cppNamespace = "::kedge";
}
class PrecisionTraits<string kind, string firstAny = "~0u">
    : TraitList<[PrecisionOpInterface, PrecisionIs<kind, firstAny>]>;

defvar LowPrecision = PrecisionTraits<"Low">;
defvar FullPrecision = PrecisionTraits<"Full">;
defvar WidestPrecision = PrecisionTraits<"Widest">;
defvar LossPrecision = PrecisionTraits<"Loss">;
#endif
