#pragma once
#include "mlir/IR/OpDefinition.h"

namespace kedge {

/// The op lists of PyTorch's autocast: compute in 16 bits, in f32, in the type of the operands, or
/// in the widest operand type. Losses, and what is computed from them, are f32 under every policy.
enum class PrecisionClass { Low, Full, Follow, Widest, Loss };

/// Implements PrecisionOpInterface for ops whose class depends only on the kind of op.
template <PrecisionClass Class, unsigned FirstAny> struct PrecisionIs {
  template <typename ConcreteOp> class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
  public:
    static PrecisionClass precisionClass() { return Class; }
    static bool takesAnyFloat(unsigned operand) { return operand >= FirstAny; }
  };
};

} // namespace kedge
#include "kedge/Interfaces/PrecisionOpInterface.h.inc"
