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
  /// Of the smallest plan known, above --memory-budget; below 0 where there is room. None without a budget.
  std::optional<int64_t> missingBytes() const;
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
