#include "passes/Mesh/ClusterRule.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "passes/Mesh/ZeroPadding.h"

using namespace mlir;

namespace kedge::mesh {
namespace {

constexpr int kWhole = ShardingRule::kWhole;

/// The loop that a dim of so many elements runs along, all of it or group by group; kWhole: it has none.
int loopOf(AffineExpr place, int64_t size, ArrayRef<int64_t> domain) {
  if (auto dim = dyn_cast<AffineDimExpr>(place))
    return domain[dim.getPosition()] == size ? static_cast<int>(dim.getPosition()) : kWhole;
  auto sum = dyn_cast<AffineBinaryOpExpr>(place);
  auto scaled = sum ? dyn_cast<AffineBinaryOpExpr>(sum.getLHS()) : nullptr;
  if (!scaled || sum.getKind() != AffineExprKind::Add || scaled.getKind() != AffineExprKind::Mul)
    return kWhole;
  auto groups = dyn_cast<AffineDimExpr>(scaled.getLHS()), within = dyn_cast<AffineDimExpr>(sum.getRHS());
  auto perGroup = dyn_cast<AffineConstantExpr>(scaled.getRHS());
  const bool fills = groups && within && perGroup && perGroup.getValue() == domain[within.getPosition()] &&
                     domain[groups.getPosition()] * perGroup.getValue() == size;
  return fills ? static_cast<int>(groups.getPosition()) : kWhole;
}

SmallVector<int> dimsOf(AffineMap map, Value tensor, ArrayRef<int64_t> domain) {
  SmallVector<int> dims;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  for (auto [i, result] : llvm::enumerate(map.getResults()))
    dims.push_back(loopOf(result, shape[i], domain));
  return dims;
}

/// Whether each tensor has the loop once, as a dim of its own, or not at all.
bool isPlain(AffineMap map, ArrayRef<int> dims, int loop) {
  int64_t uses = 0;
  for (AffineExpr result : map.getResults())
    uses += result.isFunctionOfDim(loop);
  return uses == llvm::count(dims, loop) && uses <= 1;
}

/// An op on blocks, apart from the function, as a nest.
struct Trial {
  Block block;
  ClusterSpec spec;
  sched::ClusterOp cluster;

  Trial(Operation *op, const ShardingRule &rule, const CutLoop &cut, int64_t ranks) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(block.addArgument(
          blockOf(operand.getType(), layoutOfOperand(op, rule, cut, i, ranks), ranks), op->getLoc()));
    Operation *made = cloneOnBlocks(builder, op, operands, rule, cut, ranks);
    ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    if (failed(verify(made)) || !isClusterable(made))
      return;
    cast<ClusterableOpInterface>(made).describeCluster(spec);
    cluster = buildCluster(builder, made, llvm::BitVector(made->getNumResults(), true));
  }
  ~Trial() { block.clear(); }
};

/// Whether all that the nest does is to add up: sums of a block are parts of the sums then.
bool isSum(sched::ClusterOp cluster) {
  for (Value yielded : cluster.getBody().front().getTerminator()->getOperands()) {
    Operation *producer = yielded.getDefiningOp();
    if (auto narrowed = dyn_cast_or_null<arith::TruncFOp>(producer))
      producer = narrowed.getIn().getDefiningOp();
    auto reduce = dyn_cast_or_null<sched::ReduceOp>(producer);
    if (!reduce || reduce.getKind() != sched::ReductionKind::Add)
      return false;
  }
  return llvm::all_of(cluster.getBody().front().getOps<sched::ReduceOp>(), [](sched::ReduceOp reduce) {
    return llvm::all_of(reduce->getUsers(), [](Operation *user) {
      return isa<sched::YieldOp>(user) ||
             (isa<arith::TruncFOp>(user) &&
              llvm::all_of(user->getUsers(), [](Operation *next) { return isa<sched::YieldOp>(next); }));
    });
  });
}

/// In a loop of one element its index is 0, and is written so where tensors broadcast.
SmallVector<AffineMap> withoutLoops(ArrayRef<AffineMap> maps, ArrayRef<int64_t> domain) {
  SmallVector<AffineMap> plain;
  for (AffineMap map : maps) {
    SmallVector<AffineExpr> dims;
    for (auto [i, size] : llvm::enumerate(domain))
      dims.push_back(size == 1 ? getAffineConstantExpr(0, map.getContext())
                               : getAffineDimExpr(i, map.getContext()));
    plain.push_back(map.replaceDimsAndSymbols(dims, {}, domain.size(), 0));
  }
  return plain;
}

bool isSameNest(const Trial &trial, const ClusterSpec &whole, sched::ClusterOp cluster, const CutLoop &cut,
                int64_t ranks) {
  SmallVector<int64_t> domain(whole.domain);
  domain[cut.loop] = cut.room(domain[cut.loop], ranks);
  return trial.cluster && trial.spec.domain == domain && trial.spec.reduced == whole.reduced &&
         withoutLoops(trial.spec.inputMaps, domain) == withoutLoops(whole.inputMaps, domain) &&
         withoutLoops(trial.spec.outputMaps, domain) == withoutLoops(whole.outputMaps, domain) &&
         OperationEquivalence::isRegionEquivalentTo(&const_cast<Trial &>(trial).cluster.getBody(),
                                                    &cluster.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

bool asksWhere(sched::ClusterOp cluster, int loop) {
  return cluster
      .walk([&](sched::IndexOp index) {
        return static_cast<int>(index.getDim()) == loop ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void forget(ShardingRule &rule, int loop) {
  for (auto *tensors : {&rule.operands, &rule.results})
    for (SmallVector<int> &dims : *tensors)
      llvm::replace(dims, loop, kWhole);
  rule.loops[loop].units = 0;
}
} // namespace

ShardingRule clusterRule(Operation *op, int64_t ranks) {
  ShardingRule rule;
  if (!isClusterable(op))
    return rule;
  ClusterSpec spec;
  cast<ClusterableOpInterface>(op).describeCluster(spec);
  for (auto [size, reduced] : llvm::zip(spec.domain, spec.reduced))
    rule.addLoop(size, reduced);
  for (auto [map, operand] : llvm::zip(spec.inputMaps, op->getOperands()))
    rule.operands.push_back(dimsOf(map, operand, spec.domain));
  for (auto [map, result] : llvm::zip(spec.outputMaps, op->getResults()))
    rule.results.push_back(dimsOf(map, result, spec.domain));
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  sched::ClusterOp whole = buildCluster(builder, op, llvm::BitVector(op->getNumResults(), true));
  for (int loop = 0; loop < static_cast<int>(rule.loops.size()); ++loop) {
    rule.loops[loop].takesPadding = !rule.loops[loop].reduced || sumsZeros(whole, op, rule, loop);
    bool fits = rule.loops[loop].isCuttable(ranks) && !asksWhere(whole, loop);
    for (auto [map, dims] : llvm::zip(spec.inputMaps, rule.operands))
      fits = fits && isPlain(map, dims, loop);
    for (auto [map, dims] : llvm::zip(spec.outputMaps, rule.results))
      fits = fits && isPlain(map, dims, loop) && (rule.loops[loop].reduced != llvm::is_contained(dims, loop));
    fits = fits && (!rule.loops[loop].reduced || isSum(whole));
    if (fits) {
      CutLoop cut(loop, {{}, {static_cast<int64_t>(llvm::divideCeil(spec.domain[loop], ranks))}});
      simplify(cut, spec.domain[loop], ranks);
      fits = isSameNest(Trial(op, rule, cut, ranks), spec, whole, cut, ranks);
    }
    if (!fits)
      forget(rule, loop);
  }
  whole->erase();
  return rule;
}

} // namespace kedge::mesh
