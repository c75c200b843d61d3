// What the optimizers' shapes and bodies share.
#pragma once
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/OpDefinition.h"

namespace kedge::train {

template <typename ConcreteType>
class UpdatesBlocks : public mlir::OpTrait::TraitBase<ConcreteType, UpdatesBlocks> {};

/// Results have the types of the first operands.
template <typename Adaptor>
mlir::LogicalResult sameAsFirst(Adaptor adaptor, unsigned count, mlir::SmallVectorImpl<mlir::Type> &types) {
  for (unsigned i = 0; i < count; ++i)
    types.push_back(adaptor.getOperands()[i].getType());
  return mlir::success();
}

inline mlir::Value scaled(ClusterBodyBuilder &b, mlir::Value x, double factor) {
  return factor == 1.0 ? x : b.mul(x, b.constant(x.getType(), factor));
}

/// What the attributes of an update say.
struct UpdateFacts {
  bool decay;
  double lrScale;
  bool nesterov = false;
};

// Bodies of updates, whatever holds the moments: operands as those of the op of each one's name, results the
// new values.
void adamWBody(ClusterBodyBuilder &b, mlir::ValueRange v, const UpdateFacts &facts,
               mlir::SmallVectorImpl<mlir::Value> &results);
void adamBody(ClusterBodyBuilder &b, mlir::ValueRange v, const UpdateFacts &facts,
              mlir::SmallVectorImpl<mlir::Value> &results);
void lionBody(ClusterBodyBuilder &b, mlir::ValueRange v, const UpdateFacts &facts,
              mlir::SmallVectorImpl<mlir::Value> &results);
void momentumBody(ClusterBodyBuilder &b, mlir::ValueRange v, const UpdateFacts &facts,
                  mlir::SmallVectorImpl<mlir::Value> &results);

} // namespace kedge::train
