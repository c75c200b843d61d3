// From an ONNX file and options to any level of the program: what plan and compile share.
#pragma once
#include "driver/Diagnostics.h"
#include "driver/PhasePipelines.h"
#include "lib/Analysis/StepCost.h"
#include "lib/Lint/Lint.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// Which values of the chosen plan (the level-3 module with its `sched.recompute`) get the memory and time of
/// each decision.
using ValueChooser = std::function<pipelines::PricedValues(mlir::ModuleOp, const model::Model &)>;

class Compilation {
public:
  /// Loads the model, prints lint's findings and throws when errors remain. `options` must outlive it.
  explicit Compilation(const CompileOptions &options);
  ~Compilation();

  // Phases in order (driver/options/Phase.h). Each throws kedge::Error, of all that its passes report. A
  // compilation that goes on from a file of --save-ir skips the phases that ran before the file was written.
  void import(); ///< level 1: phases Import and Model
  void step();   ///< level 2
  /// Level 3, with recomputation inserted. With `choose`, the plan's values are noted, and those chosen
  /// priced, unless the plan was made before.
  void schedule(const ValueChooser &choose = {});
  void plan();  ///< level 4: the plan of memory, without kernels
  void lower(); ///< level 4, with the kernels that its launches name
  /// The passes of each phase that is still ahead, as kedge-opt takes them: a line a phase, "NAME PIPELINE".
  std::string pipelineText();

  mlir::ModuleOp module() { return *ir; }
  /// The IR that --emit asks for; once its phase is done.
  const std::string &text() const { return emitted; }
  /// The memory report; call it after plan().
  nlohmann::json report();
  const model::Model &onnx() const { return model; }
  /// `sched.prices` of the plan whose values schedule() was to note; else null.
  mlir::ArrayAttr prices() const { return noted; }
  /// Of level 3, in order; launches() names those that each became.
  const std::vector<analysis::ScheduledLaunch> &scheduledLaunches() const { return scheduled; }
  /// The program's launches with their predicted times, for --launches; after plan().
  const std::vector<analysis::ScheduledLaunch> &launches() const { return numbered; }
  /// The schedule of a pipeline's stage, with the ranks that run it; after lower().
  std::string textOfRanks();
  /// Kernels as LLVM-ready IR, for --emit llvm; after lower().
  mlir::ModuleOp kernels() { return *kernelModule; }
  /// What lint found and did.
  const lint::Report &lintReport() const { return findings; }
  /// What the model's file asks a caller for.
  const std::vector<std::string> &fileInputs() const { return model.fileInputs; }
  /// Of the loss: what the launch table does not tell.
  const nlohmann::json &factsOfLoss() const { return facts; }
  /// Whether a file of IR that this goes on from is not what was saved.
  bool isEdited() const { return edited; }
  /// kedge::Error of all that was reported; of `otherwise` if nothing was.
  [[noreturn]] void raise(const std::string &otherwise);

private:
  /// Whether a phase has something to do.
  bool isWanted(Phase phase) const;
  void run(Phase phase, bool withKernels = false);
  void runPasses(mlir::PassManager &manager, const std::string &otherwise);
  void runPasses(mlir::PassManager &manager, Phase phase);
  void toExec(bool withKernels);
  void save(Phase phase);
  bool isEmitted(Phase phase) const;
  std::string savedText(Phase phase);
  std::string emittedText(Phase phase);
  void resume();
  void checkIsWhole() const;
  void rematerializePriced(const ValueChooser &choose);
  void showFindings();
  void chooseLoss();
  void checkMicroBatch();
  std::map<std::string, std::vector<int64_t>> shapesOfParts() const;
  bool canJoinParts() const;
  bool joinParts();
  pipelines::StepOptions stepOfJoinedParts() const;
  int64_t microBatchesOfRows() const { return isJoined ? 1 : options.parts; }
  void checkSameBits(mlir::func::FuncOp training) const;
  void addMesh(nlohmann::json &report) const;
  void addCommunication(nlohmann::json &report);
  void addSideWork(nlohmann::json &report);

  const CompileOptions &options;
  mlir::MLIRContext context;
  model::Model model;
  PhasePipelines pipelines;
  std::optional<Diagnostics> diagnostics; ///< once the model is there
  lint::Report findings;
  mlir::OwningOpRef<mlir::ModuleOp> ir, kernelModule;
  Phase done = Phase::None;
  std::string emitted;
  mlir::ArrayAttr noted;       ///< taken out of the module: programs do not depend on it
  bool tracesLaunches = false; ///< launches of level 4 are to be told from those of level 3
  bool edited = false;         ///< what a file of IR holds is not what was saved
  bool isJoined = false;       ///< a rank's parts of --same-bits are one micro-batch
  nlohmann::json savedReport;  ///< when the plan was made before
  exporter::StepCounts counts; ///< of the step, once it is there
  nlohmann::json facts;        ///< of the loss
  std::vector<analysis::ScheduledLaunch> scheduled, numbered;
};

} // namespace kedge::driver
