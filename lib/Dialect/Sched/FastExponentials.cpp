#include "kedge/Dialect/Sched/FastExponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kedge;

namespace {

bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 16; }

/// Whether all results of the body that depend on `value` are rounded to 16 bits or fewer on the way. False
/// when a comparison or an integer depends on it.
bool isRoundedBeforeItLeaves(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<arith::TruncFOp>(user) && isHalf(user->getResult(0).getType()))
        continue;
      if (isa<sched::YieldOp>(user) || !isa<FloatType>(user->getResult(0).getType()))
        return false;
      if (seen.insert(user->getResult(0)).second)
        open.push_back(user->getResult(0));
    }
  }
  return true;
}

/// Whether `value` is made of 16-bit floats and constants alone.
bool isMadeOfRounded(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  bool found = false;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op && !isHalf(next.getType()))
      return false;
    found |= !op;
    if (!op || isa<arith::ConstantOp>(op))
      continue;
    if (isa<sched::IndexOp, sched::RandomOp>(op) || !isa<FloatType>(next.getType()))
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return found;
}

bool isHidden(Operation &op) {
  return isRoundedBeforeItLeaves(op.getResult(0)) || isMadeOfRounded(op.getOperand(0));
}

} // namespace

int64_t sched::markFastExponentials(ClusterOp cluster) {
  int64_t marked = 0;
  for (Operation &op : cluster.getBody().front()) {
    if (!isa<math::ExpOp, math::TanhOp, math::ErfOp>(op) || !op.getResult(0).getType().isF32() ||
        !isHidden(op))
      continue;
    auto fast = cast<arith::ArithFastMathInterface>(op);
    op.setAttr(fast.getFastMathAttrName(),
               arith::FastMathFlagsAttr::get(op.getContext(), arith::FastMathFlags::afn));
    ++marked;
  }
  return marked;
}
