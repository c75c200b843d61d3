#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "mlir/IR/OpDefinition.h"
#include "lib/Interfaces/ClusterableOpInterface.h.inc"

namespace kedge {
template <typename ConcreteType>
class ComputesEachElement : public mlir::OpTrait::TraitBase<ConcreteType, ComputesEachElement> {};
} // namespace kedge
