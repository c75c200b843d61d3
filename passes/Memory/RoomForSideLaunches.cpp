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
    int64_t held = 0;
    for (const auto &[at, until] : llvm::reverse(beside))
      held += live.hold(plan, plan.launches[at], at, until);
    return held;
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
        beside.emplace_back(at, products[products.size() - std::min<size_t>(products.size(), kProducts)]);
      }
      if (multiplies)
        products.push_back(at);
    }
  }

  FunctionPlan &plan;
  LiveBytes live;
  std::vector<std::pair<int64_t, int64_t>>
      beside; ///< launch and the last one until which it may run, backwards
};

} // namespace

int64_t makeRoomForSideLaunches(FunctionPlan &plan) { return SideRoomMaker(plan).run(); }

} // namespace kedge::memory
