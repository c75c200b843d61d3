#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/abi/Streams.h"
#include "passes/Memory/Passes.h"
#include <vector>

namespace kedge::memory {
#define GEN_PASS_DEF_PLACESIDELAUNCHES
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

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

struct PlaceSideLaunches : impl::PlaceSideLaunchesBase<PlaceSideLaunches> {
  using Base::Base;

  void run() override {
    int64_t moved = 0;
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      if (trains(function))
        moved += place(llvm::to_vector(function.getBody().getOps<exec::LaunchInterface>()));
    addStatistic("launches moved", moved);
  }

private:
  /// Backwards, since it counts which later launches stay.
  int64_t place(ArrayRef<exec::LaunchInterface> launches) {
    int64_t moved = 0;
    std::vector<exec::LaunchBytes> staying; // of the launches that stay, the latest first
    for (exec::LaunchInterface launch : llvm::reverse(launches)) {
      exec::LaunchBytes bytes(launch);
      if (isKernel(launch) && static_cast<int64_t>(staying.size()) >= beside && isFree(bytes, staying)) {
        launch.setStream(abi::kSideStream);
        ++moved;
      } else {
        staying.push_back(std::move(bytes));
      }
    }
    return moved;
  }

  bool isFree(const exec::LaunchBytes &bytes, const std::vector<exec::LaunchBytes> &staying) const {
    return llvm::none_of(ArrayRef(staying).take_back(beside),
                         [&](const exec::LaunchBytes &next) { return next.conflictsWith(bytes); });
  }
};
} // namespace
} // namespace kedge::memory
