// Which passes each phase of a compilation runs.
#pragma once
#include "driver/SavedIr.h"
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"

namespace kedge::driver {

class PhasePipelines {
public:
  PhasePipelines(const CompileOptions &options, const model::Model &model) : options(options), model(model) {}

  /// Whether a phase has passes with these options.
  bool has(Phase phase) const;
  /// Adds the passes of a phase; those of Exec generate kernels only if asked to.
  void build(Phase phase, bool withKernels, mlir::OpPassManager &manager) const;
  /// Whether the passes that were added can be: throws kedge::Error for a phase that does not run and for
  /// what is no pipeline.
  void checkAdded(mlir::MLIRContext &context) const;
  /// Those before or after a phase, and the verifier of what they leave.
  void addGiven(Phase phase, bool before, mlir::OpPassManager &manager) const;
  /// The passes of each phase behind `done`, as kedge-opt takes them: a line a phase, "NAME PIPELINE".
  std::string text(mlir::MLIRContext &context, Phase done) const;
  /// What moves states to host memory, and what kedge-choose-recompute is told: of the phase Rematerialize.
  void addOffload(mlir::OpPassManager &manager) const;
  pipelines::ChooseRecomputeOptions recompute() const;

private:
  void buildOwn(Phase phase, bool withKernels, mlir::OpPassManager &manager) const;
  pipelines::TargetOptions target() const;
  void addRematerialization(mlir::OpPassManager &manager) const;

  const CompileOptions &options;
  const model::Model &model;
};

} // namespace kedge::driver
