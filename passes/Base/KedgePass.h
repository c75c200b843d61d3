// The base of all passes: counters that the pass declares in TableGen, and errors that become diagnostics.
#pragma once
#include "lib/Support/Statistics.h"
#include "mlir/Pass/Pass.h"
#include "runtime/io/Error.h"
#include <string_view>

namespace kedge {

/// Runs `work`; `report` says what stopped it, if anything did.
inline mlir::LogicalResult reportingFailures(llvm::function_ref<void()> work,
                                             llvm::function_ref<void(const char *)> report) {
  try {
    work();
    return mlir::success();
  } catch (const rt::Failure &failure) {
    report(failure.what());
    return mlir::failure();
  }
}

/// A counter's name as an argument of a template.
struct CounterName {
  template <size_t size> consteval CounterName(const char (&name)[size]) {
    for (size_t at = 0; at < size; ++at)
      text[at] = name[at];
  }
  char text[48] = {};
};

/// A pass implements run(). An error that it throws is reported at the op that the pass runs on.
template <typename Op, CounterName... declared> class KedgePass : public mlir::OperationPass<Op> {
public:
  /// The name of a counter from the pass's `statistics` in TableGen; any other does not compile.
  struct Counter {
    consteval Counter(const char *name) : name(name) {
      if (!((std::string_view(declared.text) == name) || ...))
        throw "the statistics of the pass in its .td have no such counter";
    }
    const char *name;
  };

protected:
  explicit KedgePass(mlir::TypeID id) : mlir::OperationPass<Op>(id) {}
  KedgePass(const KedgePass &) = default;

  virtual void run() = 0;

  void addStatistic(Counter counter, int64_t count) const {
    kedge::addStatistic(this->getArgument().str(), counter.name, count);
  }

private:
  void runOnOperation() final {
    mlir::Operation *op = this->getOperation();
    if (failed(reportingFailures([&] { run(); }, [&](const char *text) { op->emitError(text); })))
      this->signalPassFailure();
  }
};

} // namespace kedge
