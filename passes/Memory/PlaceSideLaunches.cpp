#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/abi/Streams.h"
#include "lib/Analysis/Products.h"
#include "passes/Memory/Passes.h"
#include <vector>

namespace kedge::memory {
#define GEN_PASS_DEF_PLACESIDELAUNCHES
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;
using analysis::multiplies;

/// A generated kernel: calls of libraries share workspaces that are no part of the plan, and keep their
/// stream.
bool isKernel(exec::LaunchInterface op) {
  auto launch = dyn_cast<exec::LaunchOp>(*op);
  return launch && !launch.getLibrary() && !launch.getCollective() &&
         launch.getStream() == abi::kComputeStream;
}

/// Of a step and not of what only reads parameters.
bool trains(exec::FunctionOp function) {
  const auto kind = function.getKind();
  return kind && train::runsInStep(*kind, /*accumulate=*/2) > 0;
}

/// Walks the launches of a function backwards, since what comes later decides.
class SidePlacer {
public:
  explicit SidePlacer(int64_t beside) : beside(beside) {}

  bool moves(exec::LaunchInterface launch) {
    exec::LaunchBytes bytes(launch);
    const bool isNeeded = multiplies(launch) || leadsToProduct(launch);
    if (isKernel(launch) && !isNeeded && hasCompany(bytes))
      return true;
    if (isNeeded)
      for (Value read : launch.getReads())
        needed.insert(read);
    staying.push_back({std::move(bytes), multiplies(launch)});
    return false;
  }

private:
  struct Staying {
    exec::LaunchBytes bytes;
    bool multiplies;
  };

  bool leadsToProduct(exec::LaunchInterface launch) const {
    return llvm::any_of(launch.getWrites(), [&](Value made) { return needed.contains(made); });
  }

  /// Whether enough products follow before the first launch that touches what it writes, or writes what it
  /// touches.
  bool hasCompany(const exec::LaunchBytes &bytes) const {
    int64_t products = 0;
    for (const Staying &next : llvm::reverse(staying)) {
      if (next.bytes.conflictsWith(bytes))
        return false;
      if ((products += next.multiplies) >= beside)
        return true;
    }
    return false;
  }

  int64_t beside;
  std::vector<Staying> staying; ///< the latest of the list first
  DenseSet<Value> needed;       ///< buffers that products, or what leads to them, read
};

struct PlaceSideLaunches : impl::PlaceSideLaunchesBase<PlaceSideLaunches> {
  using Base::Base;

  void run() override {
    int64_t moved = 0;
    for (auto function : getOperation().getOps<exec::FunctionOp>()) {
      if (!trains(function))
        continue;
      SidePlacer placer(beside);
      const auto launches = llvm::to_vector(function.getBody().getOps<exec::LaunchInterface>());
      for (exec::LaunchInterface launch : llvm::reverse(launches))
        if (placer.moves(launch)) {
          launch.setStream(abi::kSideStream);
          ++moved;
        }
    }
    addStatistic("launches moved", moved);
  }
};
} // namespace
} // namespace kedge::memory
