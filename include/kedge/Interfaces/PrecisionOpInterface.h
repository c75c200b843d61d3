#pragma once
#include "mlir/IR/OpDefinition.h"

namespace kedge {

/// PyTorch's autocast lists by op: 16 bits, f32, the type of the operands, the widest type among them. A loss is f32
/// under every policy, and what follows from it.
enum class PrecisionClass { Low, Full, Follow, Widest, Loss };

/// The methods of PrecisionOpInterface for ops whose answer depends on nothing but the op's kind.
template <PrecisionClass Class, unsigned FirstAny> struct PrecisionIs {
  template <typename ConcreteOp> class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
  public:
    static PrecisionClass precisionClass() { return Class; }
    static bool takesAnyFloat(unsigned operand) { return operand >= FirstAny; }
  };
};

} // namespace kedge
#include "kedge/Interfaces/PrecisionOpInterface.h.inc"
