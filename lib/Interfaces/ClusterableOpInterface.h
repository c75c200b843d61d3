#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "lib/Interfaces/ClusterableOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"

namespace kedge {
template <typename ConcreteType>
class ComputesEachElement : public mlir::OpTrait::TraitBase<ConcreteType, ComputesEachElement> {};
} // namespace kedge
