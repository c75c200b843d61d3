#include "kedge/Dialect/Sched/InPlace.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Support/MemoryBudget.h"
#include "mlir/IR/AsmState.h"
#include "passes/Memory/FunctionPlan.h"
#include "passes/Memory/Passes.h"
#include <fmt/format.h>

namespace kedge::memory {
#define GEN_PASS_DEF_SHOWMEMORY
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

/// The launches of one function with what they write: where it comes from, its bytes and how long they are
/// needed.
class MemoryText {
public:
  explicit MemoryText(FunctionPlan plan) : plan(std::move(plan)), load(this->plan.launches.size()) {
    for (const PlannedBuffer &buffer : this->plan.buffers)
      if (!buffer.persistent() && !buffer.host)
        for (int64_t at = std::max<int64_t>(0, buffer.first); at <= buffer.last && at < count(); ++at)
          load[static_cast<size_t>(at)] += analysis::arenaBytes(this->plan.function, buffer.bytes);
  }

  void print(raw_ostream &out) {
    AsmState names(plan.function, OpPrintingFlags().elideLargeElementsAttrs().skipRegions());
    const auto fullest = std::max_element(load.begin(), load.end());
    out << "// @" << plan.function.getName() << ": " << count() << " launches\n";
    for (size_t at = 0; at < plan.launches.size(); ++at)
      printLaunch(out, at, names, load.begin() + static_cast<std::ptrdiff_t>(at) == fullest);
  }

private:
  int64_t count() const { return static_cast<int64_t>(plan.launches.size()); }

  void printLaunch(raw_ostream &out, size_t at, AsmState &names, bool isFullest) {
    const PlannedLaunch &launch = plan.launches[at];
    out << "// launch " << at << ": " << formatBytes(load[at]) << " live" << (isFullest ? ", the most" : "")
        << "\n";
    for (auto [result, index] : llvm::zip_equal(launch.op->getResults(), launch.writes)) {
      const PlannedBuffer &buffer = plan.buffers[index];
      out << "//   ";
      result.printAsOperand(out, names);
      out << "  " << formatBytes(sched::bytesOf(result.getType())) << lifeText(buffer) << "\n";
    }
    if (launch.workspace >= 0)
      out << "//   workspace  " << formatBytes(plan.buffers[static_cast<size_t>(launch.workspace)].bytes)
          << "\n";
    launch.op->print(out, names);
    out << "\n";
  }

  static std::string lifeText(const PlannedBuffer &buffer) {
    if (buffer.persistent())
      return fmt::format(", in the place of '{}'", buffer.binding.getName().str());
    return fmt::format(", {}its bytes from launch {} to {}", buffer.host ? "in host memory, " : "",
                       buffer.first, buffer.last);
  }

  FunctionPlan plan;
  std::vector<int64_t> load; ///< transient bytes at each launch
};

struct ShowMemory : impl::ShowMemoryBase<ShowMemory> {
  using Base::Base;

  void run() override {
    ConstantTable constants;
    auto workspace = [team = analysis::teamOf(threads)](Operation *op) {
      return analysis::workspaceOf(op, team);
    };
    int64_t shown = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function.isPrivate())
        continue;
      FailureOr<FunctionPlan> plan = planFunction(function, constants, workspace);
      if (failed(plan))
        return signalPassFailure();
      shown += static_cast<int64_t>(plan->launches.size());
      MemoryText(std::move(*plan)).print(llvm::errs());
    }
    addStatistic("launches shown", shown);
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace kedge::memory
