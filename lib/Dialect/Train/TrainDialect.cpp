#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "kedge/Dialect/Train/Optimizer/BasisOps.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Dialect/Train/Positions.h"
#include "lib/Dialect/Train/Sharding.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

#include "kedge/Dialect/Train/TrainAttrsEnums.cpp.inc"
#include "kedge/Dialect/Train/TrainEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Train/TrainAttrs.cpp.inc"
#include "kedge/Dialect/Train/TrainDialect.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/StateOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/EpilogueOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/GroupedOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Quantized/QuantizedOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Quantized/Float8Ops.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/CompactOps.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/BasisOps.cpp.inc"

void TrainDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Train/TrainAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/StateOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/EpilogueOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/GroupedOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Quantized/QuantizedOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Quantized/Float8Ops.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Optimizer/CompactOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Optimizer/BasisOps.cpp.inc"
      >();
  registerLossOps();
  registerOptimizerOps();
  registerGradientOps();
  registerElementwiseOps();
  registerMovementGradientOps();
  registerOnnxOptimizerOps();
  registerShardings(getContext());
  registerPositions(getContext());
}

RankedTensorType StateOp::wholeType() {
  auto own = cast<RankedTensorType>(getType());
  return getSharding() ? RankedTensorType::get(getSharding()->getShape(), own.getElementType()) : own;
}

RankedTensorType StateOp::boxType() {
  if (getSharding() && !getSharding()->isHere())
    return cast<RankedTensorType>(getType());
  return getSharding() ? dist::boxOf(wholeType(), getSharding()->getCuts()) : wholeType();
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitOpError("is of type ") << getType() << ", expected numbers of a static shape";
  if (std::string why = tooLarge(wholeType().getShape()); !why.empty())
    return emitOpError("cannot be held: ") << why;
  if (auto weight = dyn_cast_or_null<WeightAttr>(getInitAttr());
      weight && (weight.getOffset() < 0 || weight.getLength() < 0))
    return emitOpError("is read from ") << weight << ": a place in a file is not negative";
  if (getRole() == Role::WorkingCopy && !getOfAttr())
    return emitOpError("is a working copy of nothing: expected 'of' with the state that it copies");
  if (getRole() == Role::WorkingCopy &&
      !SymbolTable::lookupNearestSymbolFrom<StateOp>(getOperation()->getParentOp(), getOfAttr()))
    return emitOpError("is a working copy of ") << getOfAttr() << ", and no state has that name";
  if (!getSharding())
    return success();
  Type expected = getSharding()->partOf(wholeType());
  if (getType() == expected)
    return success();
  return emitOpError("is of type ") << getType() << ", but a part of " << wholeType() << " by "
                                    << *getSharding() << " is of type " << expected;
}
