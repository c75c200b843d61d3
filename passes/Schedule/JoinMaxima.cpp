#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "passes/Schedule/ClusterEditing.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_JOINMAXIMA
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using sched::ClusterOp;

/// Tensors that a joined cluster reads, and ops of its body.
constexpr size_t kMostTensors = 16, kMostBodyOps = 200;
/// Bytes of maxima that live from the front of the function on.
constexpr int64_t kMostKept = 1 << 16;

/// Maxima have the same bits in any order, so joined clusters may reduce in another one.
bool reducesMaxima(ClusterOp cluster) {
  auto reductions = cluster.getBody().front().getOps<sched::ReduceOp>();
  return !reductions.empty() && llvm::all_of(reductions, [](sched::ReduceOp reduction) {
    return reduction.getKind() == sched::ReductionKind::Max;
  });
}

struct JoinMaxima : impl::JoinMaximaBase<JoinMaxima> {
  using Base::Base;

  void run() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    collect(function);
    int64_t joined = 0;
    behind = nullptr;
    if (llvm::any_of(alike, [](const auto &kind) { return kind.second.size() > 1; }))
      for (auto &[kind, clusters] : alike)
        joined += join(clusters);
    addStatistic("clusters joined", joined);
  }

private:
  /// Clusters of equal loops; those of one depth wait for none of each other.
  struct Kind {
    int64_t depth;
    ArrayRef<int64_t> domain, reduced; ///< of attributes, so they last
    bool operator==(const Kind &other) const {
      return depth == other.depth && domain == other.domain && reduced == other.reduced;
    }
  };

  void collect(func::FuncOp function) {
    alike.clear();
    llvm::DenseMap<Operation *, int64_t> depths;
    for (auto cluster : function.getBody().front().getOps<ClusterOp>())
      if (std::optional<int64_t> depth = depthOf(cluster, function, depths)) {
        depths[cluster] = *depth;
        clustersOf({*depth, cluster.getDomain(), cluster.getReduced()}).push_back(cluster);
      }
    llvm::stable_sort(alike, [](const auto &a, const auto &b) { return a.first.depth < b.first.depth; });
  }

  SmallVector<ClusterOp> &clustersOf(const Kind &kind) {
    for (auto &[of, clusters] : alike)
      if (of == kind)
        return clusters;
    return alike.emplace_back(kind, SmallVector<ClusterOp>()).second;
  }

  /// How many clusters of maxima the states go through before they are this one's operands; none where it
  /// needs anything else, keeps much, or reads so much that it takes longer to read it apart from what
  /// follows than to launch it apart.
  std::optional<int64_t> depthOf(ClusterOp cluster, func::FuncOp function,
                                 const llvm::DenseMap<Operation *, int64_t> &depths) const {
    if (cluster.getClone() || cluster.getInputs().empty() || !reducesMaxima(cluster) ||
        bytesOf(cluster.getInputs()) > most || bytesOf(cluster.getResults()) > kMostKept)
      return std::nullopt;
    int64_t depth = 0;
    for (Value input : cluster.getInputs()) {
      if (auto argument = dyn_cast<BlockArgument>(input)) {
        if (!train::stateOfArgument(function, argument.getArgNumber()))
          return std::nullopt;
        continue;
      }
      auto before = depths.find(input.getDefiningOp());
      if (before == depths.end())
        return std::nullopt;
      depth = std::max(depth, before->second + 1);
    }
    return depth;
  }

  static size_t opsOf(ClusterOp cluster) { return cluster.getBody().front().getOperations().size(); }

  static int64_t bytesOf(ValueRange tensors) {
    int64_t bytes = 0;
    for (Value tensor : tensors)
      bytes += sched::bytesOf(tensor.getType());
    return bytes;
  }

  /// As many as fit one cluster at a time; how many are now parts of others.
  int64_t join(ArrayRef<ClusterOp> clusters) {
    int64_t joined = 0, parts = 0;
    ClusterOp last;
    for (ClusterOp cluster : clusters) {
      place(cluster);
      const bool fits = last && last.getInputs().size() + cluster.getInputs().size() <= kMostTensors &&
                        opsOf(last) + opsOf(cluster) <= kMostBodyOps;
      parts = fits ? parts + 1 : 1;
      joined += parts == 2 ? 2 : parts > 2 ? 1 : 0;
      last = fits ? joinProducer(last, cluster) : cluster;
      behind = last;
    }
    return joined;
  }

  /// In front of the function's other ops, in the order of depths.
  void place(ClusterOp cluster) {
    Operation *first = &cluster->getBlock()->front();
    if (behind)
      cluster->moveAfter(behind);
    else if (first != cluster)
      cluster->moveBefore(first);
  }

  std::vector<std::pair<Kind, SmallVector<ClusterOp>>> alike;
  Operation *behind = nullptr; ///< the last cluster that has its place
};
} // namespace
} // namespace kedge::schedule
