// The update m' = max(m, x), s' = s * exp(m - m') + exp(x - m'), and where nests allow it.
#include "passes/Lower/Gpu/OnlineSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

/// The maximum m where `sum` reduces exp(x - m) and m reduces x; null otherwise.
sched::ReduceOp maximumBelow(sched::ReduceOp sum) {
  auto exponential = sum.getInput().getDefiningOp<math::ExpOp>();
  auto difference = exponential ? exponential.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  auto maximum = difference ? difference.getRhs().getDefiningOp<sched::ReduceOp>() : sched::ReduceOp();
  bool isPair = maximum && sum.getKind() == sched::ReductionKind::Add &&
                maximum.getKind() == sched::ReductionKind::Max && maximum.getInput() == difference.getLhs();
  return isPair ? maximum : sched::ReduceOp();
}

} // namespace

bool kedge::lower::gpu::pairOnlineSums(ClusterNest &nest) {
  for (auto reduction : nest.body().getOps<sched::ReduceOp>())
    if (sched::ReduceOp maximum = maximumBelow(reduction))
      nest.maximumOf[reduction] = maximum;
  nest.findPhases();
  return !nest.maximumOf.empty();
}

OnlineSum::OnlineSum(ScalarOps &ops, sched::ReduceOp sum)
    : ops(ops), flags(sum.getInput().getDefiningOp<math::ExpOp>().getFastmath()) {}

Value OnlineSum::reference(Value maximum) {
  Type type = getElementTypeOrSelf(maximum.getType());
  unsigned width = kedge::lower::widthOf(maximum);
  Value nothing = ops.identity(sched::ReductionKind::Max, type, width);
  Value unseen = arith::CmpFOp::create(ops.builder, ops.loc, arith::CmpFPredicate::OEQ, maximum, nothing);
  return arith::SelectOp::create(ops.builder, ops.loc, unseen,
                                 ops.identity(sched::ReductionKind::Add, type, width), maximum);
}

Value OnlineSum::term(Value x, Value reference) {
  Value below =
      arith::SubFOp::create(ops.builder, ops.loc, x, ops.splat(reference, kedge::lower::widthOf(x)));
  return math::ExpOp::create(ops.builder, ops.loc, below, flags);
}

Value OnlineSum::rescaled(Value sum, Value maximum, Value reference) {
  Value scale = ops.splat(term(maximum, reference), kedge::lower::widthOf(sum));
  return arith::MulFOp::create(ops.builder, ops.loc, sum, scale);
}

// x - x is 0 for numbers, which changes no bit of a sum, and NaN for everything else.
Value OnlineSum::finished(Value sum, Value maximum) {
  Value zero = arith::SubFOp::create(ops.builder, ops.loc, maximum, maximum);
  return arith::AddFOp::create(ops.builder, ops.loc, sum, zero);
}
