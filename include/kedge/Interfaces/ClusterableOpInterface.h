#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/OpDefinition.h"

#include "kedge/Interfaces/ClusterableOpInterface.h.inc"

namespace kedge {
template <typename ConcreteType>
class ComputesEachElement : public mlir::OpTrait::TraitBase<ConcreteType, ComputesEachElement> {};
} // namespace kedge
