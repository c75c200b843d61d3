#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge::train;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.cpp.inc"

void TrainDialect::registerMovementGradientOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.cpp.inc"
      >();
}

/// The gradient has dY's element type and the shape written on the op.
template <typename Adaptor> static LogicalResult inferShaped(Adaptor &adaptor, SmallVectorImpl<Type> &types) {
  Type element = cast<RankedTensorType>(adaptor.getDY().getType()).getElementType();
  types.push_back(RankedTensorType::get(adaptor.getShape(), element));
  return success();
}

#define KEDGE_INFER_SHAPED(Op)                                                                               \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                \
                                     SmallVectorImpl<Type> &types) {                                         \
    return inferShaped(adaptor, types);                                                                      \
  }
KEDGE_INFER_SHAPED(GatherGradOp)
KEDGE_INFER_SHAPED(GatherElementsGradOp)
KEDGE_INFER_SHAPED(GatherNDGradOp)
KEDGE_INFER_SHAPED(SliceGradOp)
KEDGE_INFER_SHAPED(PadGradOp)
KEDGE_INFER_SHAPED(ResizeGradOp)

LogicalResult GridSampleGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getGrid().getType()});
  return success();
}
