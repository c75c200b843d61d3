// The update m' = max(m, x), s' = s * exp(m - m') + exp(x - m'), and where nests allow it.
#include "passes/Lower/Gpu/OnlineSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/ThreadEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

/// The maximum m where `sum` folds exp(x - m) and m folds x; null otherwise.
sched::ReduceOp maximumBelow(sched::ReduceOp sum) {
  auto exponential = sum.getInput().getDefiningOp<math::ExpOp>();
  auto difference = exponential ? exponential.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  auto maximum = difference ? difference.getRhs().getDefiningOp<sched::ReduceOp>() : sched::ReduceOp();
  bool isPair = maximum && sum.getKind() == sched::FoldKind::Add && maximum.getKind() == sched::FoldKind::Max &&
                maximum.getInput() == difference.getLhs();
  return isPair ? maximum : sched::ReduceOp();
}

} // namespace

bool kedge::lower::gpu::pairOnlineSums(ClusterNest &nest) {
  for (auto fold : nest.body().getOps<sched::ReduceOp>())
    if (sched::ReduceOp maximum = maximumBelow(fold))
      nest.maximumOf[fold] = maximum;
  nest.findPhases();
  return !nest.maximumOf.empty();
}

Value OnlineSum::reference(Value maximum) {
  Type type = getElementTypeOrSelf(maximum.getType());
  unsigned width = kedge::lower::widthOf(maximum);
  Value nothing = ops.identity(sched::FoldKind::Max, type, width);
  Value unseen = arith::CmpFOp::create(ops.builder, ops.loc, arith::CmpFPredicate::OEQ, maximum, nothing);
  return arith::SelectOp::create(ops.builder, ops.loc, unseen, ops.identity(sched::FoldKind::Add, type, width), maximum);
}

Value OnlineSum::term(Value x, Value reference) {
  Value below = arith::SubFOp::create(ops.builder, ops.loc, x, ops.splat(reference, kedge::lower::widthOf(x)));
  return math::ExpOp::create(ops.builder, ops.loc, below);
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

//===- In a thread --------------------------------------------------------------------------------------===//

// One maximum for all that a thread holds, so that a step costs one exponential beside those of its elements.
void ThreadEmitter::accumulatePair(sched::ReduceOp sum, Value &maximum, MutableArrayRef<Value> sums) {
  OnlineSum online(ops);
  sched::ReduceOp fold = nest.maximumOf.lookup(sum);
  Values elements;
  for (unsigned slot = 0; slot < slots.size(); ++slot)
    elements.push_back(foldedOfSlot(fold, slot));
  Value top = ops.combine(fold.getKind(), maximum, ofThread(fold, elements));
  Value reference = online.reference(top), scale = online.term(maximum, reference);
  for (auto [slot, value] : llvm::enumerate(sums)) {
    Value scales = ops.splat(scale, kedge::lower::widthOf(value));
    value = arith::MulFOp::create(b, loc, value, scales);
    if (slot < elements.size())
      value = ops.combine(sum.getKind(), value, online.term(elements[slot], reference));
  }
  maximum = top;
}

// The team's maxima are known: each thread's sum as seen from there, then a plain sum over the team.
void ThreadEmitter::joinPairs(ArrayRef<Value> maxima, Values results) {
  OnlineSum online(ops);
  folds = onlineSums;
  for (auto [sum, maximum, value] : llvm::zip(onlineSums, maxima, results))
    value = online.rescaled(value, maximum, online.reference(at(nest.maximumOf.lookup(sum).getResult(), 0)));
  joinTeam(results);
  for (auto [sum, value] : llvm::zip(onlineSums, results)) {
    Value maximum = at(nest.maximumOf.lookup(sum).getResult(), 0);
    // A part of a row may hold nothing but -inf: who joins the parts finishes their sum.
    env[sum.getResult()] = {plan.splits > 1 ? value : online.finished(value, maximum)};
  }
}
