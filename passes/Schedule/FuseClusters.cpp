#include "kedge/Dialect/Sched/SinglePass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Schedule/BlockOrder.h"
#include "passes/Schedule/ClusterEditing.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSECLUSTERS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using sched::ClusterOp;

constexpr size_t maxBodyOps = 200, maxOperands = 24, maxReaders = 16;

Block &bodyOf(ClusterOp cluster) { return cluster.getBody().front(); }

template <typename... Ops> llvm::DenseSet<TypeID> kindsOf() { return {TypeID::get<Ops>()...}; }

/// One look-up an operation: each body is walked for each reader.
bool isExpensive(Operation &op) {
  static const llvm::DenseSet<TypeID> expensive =
      kindsOf<math::ExpOp, math::ExpM1Op, math::LogOp, math::Log1pOp, math::TanhOp, math::ErfOp, math::PowFOp,
              math::SqrtOp, math::SinOp, math::CosOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
              arith::RemFOp, arith::RemSIOp, arith::RemUIOp, sched::RandomOp>();
  return expensive.contains(op.getName().getTypeID());
}

bool hasExpensive(ClusterOp cluster) { return llvm::any_of(bodyOf(cluster), isExpensive); }

/// Whether some expensive scalar changes from point to point of a reduction, so that each pass computes it
/// again.
bool hasExpensivePoints(ClusterOp cluster) {
  llvm::DenseSet<Value> points;
  for (auto [argument, map] : llvm::zip(bodyOf(cluster).getArguments(), cluster.getInputMaps()))
    for (int64_t dim : cluster.getReduced())
      if (cast<AffineMapAttr>(map).getValue().isFunctionOfDim(dim))
        points.insert(argument);
  for (Operation &op : bodyOf(cluster)) {
    auto index = dyn_cast<sched::IndexOp>(op);
    bool point = index ? llvm::is_contained(cluster.getReduced(), static_cast<int64_t>(index.getDim()))
                       : !isa<sched::ReduceOp>(op) &&
                             llvm::any_of(op.getOperands(), [&](Value v) { return points.contains(v); });
    if (point && isExpensive(op))
      return true;
    if (point)
      points.insert(op.result_begin(), op.result_end());
  }
  return false;
}

int64_t volume(ClusterOp cluster) {
  int64_t size = 1;
  for (int64_t dim : cluster.getDomain())
    size *= dim;
  return size;
}

/// A broadcast or a cut of one tensor that keeps the order of its dims, or a value of indices alone.
bool isCheapToRepeat(ClusterOp cluster) {
  if (cluster.getInputs().empty())
    return bodyOf(cluster).getOperations().size() <= 12;
  if (cluster.getInputs().size() > 1 || bodyOf(cluster).getOperations().size() > 1)
    return false;
  int64_t last = -1;
  for (AffineExpr e : cast<AffineMapAttr>(cluster.getInputMaps()[0]).getValue().getResults()) {
    if (isa<AffineConstantExpr>(e))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (!dim || int64_t(dim.getPosition()) <= last)
      return false;
    last = dim.getPosition();
  }
  return true;
}

struct FuseClusters : impl::FuseClustersBase<FuseClusters> {
  using Base::Base;
  int64_t substituted = 0, joined = 0;
  std::optional<BlockOrder> order;

  void run() override {
    if (getOperation().isExternal())
      return;
    order.emplace(getOperation().getBody().front());
    // Producers come first, so each is as large as it gets when its readers look at it.
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      if (auto cluster = dyn_cast<ClusterOp>(op))
        joinTwin(absorbProducers(cluster));
    addStatistic("producers substituted", substituted);
    addStatistic("clusters joined", joined);
  }

  /// Reductions of the same points, of which the kernel reads each once: the squares of a gradient and
  /// whether it is finite.
  void joinTwin(ClusterOp cluster) {
    if (!stores || cluster.getReduced().empty() || cluster.getInputs().empty())
      return;
    for (Operation *user : cluster.getInputs()[0].getUsers())
      if (auto twin = dyn_cast<ClusterOp>(user); twin && isTwin(twin, cluster)) {
        moveAfter(cluster, twin); // it reads nothing else
        if (!canJoin(twin, cluster))
          return;
        join(twin, cluster);
        return;
      }
  }

  ClusterOp join(ClusterOp producer, ClusterOp reader) {
    ++joined;
    order->forget(producer);
    order->forget(reader);
    return joinProducer(producer, reader);
  }

  void moveAfter(ClusterOp cluster, ClusterOp other) {
    cluster->moveAfter(other);
    order->forget(cluster);
  }

  bool isTwin(ClusterOp before, ClusterOp cluster) {
    return before->getBlock() == cluster->getBlock() && order->isBefore(before, cluster) &&
           !before.getClone() && !cluster.getClone() && before.getReduced() == cluster.getReduced() &&
           before.getInputs() == cluster.getInputs() && before.getInputMaps() == cluster.getInputMaps() &&
           before.getOutputMaps()[0] == cluster.getOutputMaps()[0];
  }

  ClusterOp absorbProducers(ClusterOp reader) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Value input : reader.getInputs())
        if (ClusterOp next = absorb(reader, input)) {
          reader = next;
          changed = true;
          break;
        }
    }
    return reader;
  }

  ClusterOp absorb(ClusterOp reader, Value input) {
    auto view = input.getDefiningOp<sched::ViewOp>();
    Value source = view ? view.getInput() : input;
    auto producer = source.getDefiningOp<ClusterOp>();
    bool sameElements =
        getElementTypeOrSelf(source) == getElementTypeOrSelf(input); // a view may read bits as others
    if (!producer || !sameElements || producer.getClone() || reader.getClone() ||
        bodyOf(producer).getOperations().size() + bodyOf(reader).getOperations().size() > maxBodyOps ||
        producer.getInputs().size() + reader.getInputs().size() > maxOperands)
      return {};
    if (canSubstitute(producer, reader, input, view)) {
      for (Operation *goes : {producer.getOperation(), reader.getOperation(), input.getDefiningOp()})
        order->forget(goes);
      if (ClusterOp fused = substituteProducer(producer, reader, input)) {
        ++substituted;
        return fused;
      }
    }
    return !view && canJoin(producer, reader) ? join(producer, reader) : ClusterOp();
  }

  bool canSubstitute(ClusterOp producer, ClusterOp reader, Value input, sched::ViewOp view) {
    if (!producer.getReduced().empty() || producer->getNumResults() != 1)
      return false;
    if (isCheapToRepeat(producer))
      return true;
    auto onlyReader = [&](Value v) {
      return llvm::all_of(v.getUsers(), [&](Operation *u) { return u == reader; });
    };
    if (!onlyReader(input) || (view && !view.getInput().hasOneUse()))
      return false;
    int64_t maps = 0;
    llvm::SmallDenseSet<Attribute> different;
    for (auto [operand, map] : llvm::zip(reader.getInputs(), reader.getInputMaps()))
      if (operand == input && different.insert(map).second)
        ++maps;
    bool once = maps == 1 && volume(reader) <= volume(producer);
    if (hasExpensive(producer))
      return once && reader.getReduced().empty();
    return once && (reader.getReduced().empty() || producer.getInputs().size() <= 4);
  }

  /// Same domain, and every value that passes between the two is read where it was made.
  bool canJoin(ClusterOp producer, ClusterOp reader) {
    if (producer.getDomain() != reader.getDomain())
      return false;
    bool producerReduces = !producer.getReduced().empty(), readerReduces = !reader.getReduced().empty();
    if (producerReduces && readerReduces && producer.getReduced() != reader.getReduced())
      return false;
    if (readerReduces && !(stores && reducesAlong(producer, reader)) &&
        (producerReduces ? hasExpensivePoints(producer) : hasExpensive(producer)))
      return false;
    if (producerReduces != readerReduces && !writesEveryPoint(producerReduces ? reader : producer))
      return false;
    for (auto [input, map] : llvm::zip(reader.getInputs(), reader.getInputMaps())) {
      auto result = dyn_cast<OpResult>(input);
      if (result && result.getOwner() == producer &&
          producer.getOutputMaps()[result.getResultNumber()] != map)
        return false;
    }
    size_t readers = 0;
    bool isRead = false; // before the reader
    for (Operation *user : producer->getUsers()) {
      isRead |= user != reader && order->isBefore(user, reader);
      if (++readers > maxReaders)
        return false;
    }
    if (!isRead)
      return true;
    if (!stores || !hasExpensive(producer) || !reducesAlong(producer, reader) || !mayFollow(producer, reader))
      return false;
    moveAfter(reader, producer);
    return true;
  }

  /// Points that are made and reductions that read them: one kernel stores the ones and reduces the others as
  /// it goes.
  bool reducesAlong(ClusterOp producer, ClusterOp reader) {
    return producer.getReduced().empty() && sched::reducesOnce(reader);
  }

  bool mayFollow(ClusterOp producer, ClusterOp reader) {
    return llvm::all_of(reader.getInputs(), [&](Value input) {
      Operation *made = input.getDefiningOp();
      return !made || made == producer || order->isBefore(made, producer);
    });
  }

  bool writesEveryPoint(ClusterOp cluster) {
    return llvm::all_of(cluster.getOutputMaps(), [&](Attribute attr) {
      AffineMap map = cast<AffineMapAttr>(attr).getValue();
      for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
        if (!map.isFunctionOfDim(dim))
          return false;
      return true;
    });
  }
};
} // namespace
} // namespace kedge::schedule
