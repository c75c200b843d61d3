#include "lib/Analysis/LaunchCost.h"
#include "passes/Memory/LiveBytes.h"

using namespace mlir;

namespace kedge::memory {
namespace {

/// Products beside which a kernel has time to run, where memory has room.
constexpr int64_t kProducts = 2;

class SideRoomMaker {
public:
  explicit SideRoomMaker(FunctionPlan &plan) : plan(plan), live(plan) {}

  int64_t run() {
    findProducts();
    for (int64_t at : beside)
      hold(plan.launches[at], at);
    return changed;
  }

private:
  /// Backwards: kernels that no later product needs, and the launches until which they may run.
  void findProducts() {
    llvm::DenseSet<size_t> needed;
    std::vector<int64_t> products; // the latest of the list first
    for (int64_t at = static_cast<int64_t>(plan.launches.size()); at-- > 0;) {
      const PlannedLaunch &launch = plan.launches[at];
      const bool multiplies = analysis::costOf(launch.op).product();
      if (multiplies || llvm::any_of(launch.writes, [&](size_t made) { return needed.contains(made); })) {
        needed.insert(launch.reads.begin(), launch.reads.end());
      } else if (isa<sched::ClusterOp>(launch.op) && !products.empty()) {
        beside.insert(beside.begin(), at);
        until[at] = products[products.size() - std::min<size_t>(products.size(), kProducts)];
      }
      if (multiplies)
        products.push_back(at);
    }
  }

  /// What it reads, and its scratch, as long as no more is live at once than anyway.
  void hold(const PlannedLaunch &launch, int64_t at) {
    SmallVector<size_t> buffers(launch.reads);
    if (launch.workspace >= 0)
      buffers.push_back(static_cast<size_t>(launch.workspace));
    for (size_t index : buffers) {
      PlannedBuffer &buffer = plan.buffers[index];
      if (!LiveBytes::isTransient(buffer) || buffer.last != at)
        continue;
      const int64_t last = live.roomUntil(at, until.lookup(at), buffer.bytes);
      live.add(at + 1, last, buffer.bytes);
      changed += last > at;
      buffer.last = last;
    }
  }

  FunctionPlan &plan;
  LiveBytes live;
  std::vector<int64_t> beside;            ///< launches
  llvm::DenseMap<int64_t, int64_t> until; ///< by launch
  int64_t changed = 0;
};

} // namespace

int64_t makeRoomForSideLaunches(FunctionPlan &plan) { return SideRoomMaker(plan).run(); }

} // namespace kedge::memory
