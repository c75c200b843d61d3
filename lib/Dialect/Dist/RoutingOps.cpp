#include "kedge/Dialect/Dist/RoutingOps.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::dist;

#define GET_OP_CLASSES
#include "kedge/Dialect/Dist/RoutingOps.cpp.inc"

/// `own`: of the rank's places; `routed`: those that are with their experts.
template <typename OpType>
static LogicalResult verifyRouted(OpType op, Value own, Value routed, bool shares) {
  const auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  const int64_t places = typeOf(op.getExperts()).getNumElements(), count = op.getCount(),
                ranks = op.getRanks();
  if (MeshAttr mesh = meshOf(op); mesh && mesh.sizeOf(op.getAxis()) != ranks)
    return op.emitOpError("is over ") << ranks << " ranks along '" << op.getAxis()
                                      << "', where the module's mesh has " << mesh.sizeOf(op.getAxis());
  if (count % ranks != 0)
    return op.emitOpError("has ") << count << " experts over " << ranks << " ranks, expected as many on each";
  if (typeOf(op.getCounts()).getShape() != ArrayRef<int64_t>{count * ranks} ||
      !typeOf(op.getCounts()).getElementType().isInteger(64))
    return op.emitOpError("has counts ") << op.getCounts().getType() << ", expected i64 of " << ranks
                                         << " ranks with " << count << " experts";
  ArrayRef<int64_t> rows = typeOf(own).getShape(), moved = typeOf(routed).getShape();
  const bool fits = rows.size() == 2 && moved.size() == 2 && rows[1] == moved[1] && rows[0] > 0 &&
                    (shares ? places % rows[0] == 0 : places == rows[0]);
  if (!fits || typeOf(own).getElementType() != typeOf(routed).getElementType())
    return op.emitOpError("has rows ")
           << own.getType() << " of " << places << " places and " << routed.getType()
           << " with their experts: expected rows of one width and type";
  return success();
}

LogicalResult DispatchOp::verify() { return verifyRouted(*this, getRows(), getMoved(), /*shares=*/true); }
LogicalResult CombineOp::verify() { return verifyRouted(*this, getMoved(), getRows(), /*shares=*/false); }
