// The budgets of device and host, against what a planned module takes.
#pragma once
#include "driver/options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

class BudgetCheck {
public:
  /// `module` has chosen what to recompute (level 3), or is planned (level 4).
  BudgetCheck(mlir::ModuleOp module, const CompileOptions &options) : module(module), options(options) {}

  /// Says which flags change nothing in this step.
  void noteWithoutEffect() const;
  /// Throws kedge::Error if the packed arena takes more than kedge-choose-recompute foresaw.
  void check() const;
  /// Whether the plan stays within --memory-budget.
  bool fitsDevice() const;
  /// Whether the plan stays within --memory-budget, and at level 4 within --host-memory-budget.
  bool fits() const;
  /// Bytes of --memory-budget, of what is held for the whole step, and of the smallest plan known with it.
  struct Needs {
    int64_t budget = 0, held = 0, smallest = 0;
  };
  /// None without a budget.
  std::optional<Needs> needs() const;
  /// Says what fills the memory, `remedies` (lines), and last the smallest budget that would do; at level 4.
  /// `where`: of which of several plans.
  void sayWhyNothingFits(const std::string &remedies, const std::string &where = "") const;
  std::string whyNothingFits(const std::string &remedies) const;

private:
  int64_t hostBytes() const;
  std::string whyHostDoesNotFit(const std::string &remedies) const;

  mutable mlir::ModuleOp module;
  const CompileOptions &options;
};

} // namespace kedge::driver
