// From an ONNX file and options to any level of the program: what plan and compile share.
#pragma once
#include "driver/CompileOptions.h"
#include "driver/GpuTarget.h"
#include "driver/SavedIr.h"
#include "kedge/Analysis/StepCost.h"
#include "kedge/Lint/Lint.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

class Compilation {
public:
  /// Loads the model, prints lint's findings and throws when errors remain.
  explicit Compilation(const CompileOptions &options);
  ~Compilation();

  // Phases in order; each throws kedge::Error (diagnostics are printed before). Those that a file of --save-ir has
  // behind it do nothing.
  void import();   ///< level 1, composites raised
  void step();     ///< level 2
  void schedule(); ///< level 3, with what is computed again
  void plan();     ///< level 4

  mlir::ModuleOp module() { return *ir; }
  /// Whether the plan stays within --memory-budget, and within --host-memory-budget once plan() has run; after
  /// schedule().
  bool fits();
  /// What fills the memory, and the smallest budget that would do; after plan().
  std::string whyNothingFits();
  /// Contract section 5; after plan().
  nlohmann::json report();
  /// The program's launches with their predicted times, for --launches; after plan().
  const std::vector<analysis::ScheduledLaunch> &launches() const { return numbered; }
  /// Emits kernels (before plan()) so that launches name them.
  void emitKernels();
  /// Object code, launch table, executable at `output`.
  void link(const std::string &output);
  /// The program's kernels and data as one object file, to be linked with the runtime.
  void emitObject(const std::string &output);
  /// Kernels as LLVM-ready IR, for --emit llvm.
  mlir::ModuleOp kernels() { return *kernelModule; }
  /// Kernels as PTX with what ptxas says of them, for --emit ptx; after emitKernels().
  std::string ptx();

private:
  struct Objects;
  Objects compileObjects();
  /// Generates the GPU's code, appends it to the program's data and tells where it is.
  nlohmann::json gpuTargetJson(std::vector<uint8_t> &data);
  void run(Phase phase, llvm::function_ref<void(mlir::OpPassManager &)> build);
  void save(Phase phase);
  void resume();
  void applyParameterOptions();
  void rematerialize();
  /// Kernels for the GPU are generated to learn what they need beside their operands.
  void noteWorkspaces();
  void offloadStates();
  int64_t hostBytes();
  std::string whyHostDoesNotFit();
  std::unique_ptr<GpuTarget> makeTarget(mlir::ModuleOp host) const;

  const CompileOptions &options;
  mlir::MLIRContext context;
  model::Model model;
  lint::Report findings;
  mlir::OwningOpRef<mlir::ModuleOp> ir, kernelModule;
  Phase done = Phase::None;
  nlohmann::json savedReport; ///< when the plan was made before
  std::map<std::string, int64_t> composites;
  nlohmann::json facts; ///< of the loss: what the launch table does not tell
  std::vector<analysis::ScheduledLaunch> scheduled, numbered;
  std::unique_ptr<GpuTarget> gpu; ///< with --target cuda, once kernelModule is there
};

} // namespace kedge::driver
