// From an ONNX file and options to any level of the program: what plan and compile share.
#pragma once
#include "driver/Diagnostics.h"
#include "driver/SavedIr.h"
#include "driver/options/CompileOptions.h"
#include "lib/Analysis/StepCost.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Lint/Lint.h"
#include "lib/Support/ObjectFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/io/NamePattern.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// A program in parts, before it is one object.
struct ProgramParts {
  ObjectFiles kernels;
  std::vector<std::string> names; ///< of kernels, as the objects have them
  std::string json;
  std::vector<uint8_t> data;
};
void linkParts(const ProgramParts &parts, const CompileOptions &options, const std::string &output);

class Compilation {
public:
  /// Loads the model, prints lint's findings and throws when errors remain.
  explicit Compilation(const CompileOptions &options);
  ~Compilation();

  // Phases in order. Each throws kedge::Error, of all that its passes report. A compilation that goes on from
  // a file of
  // --save-ir skips the phases that ran before the file was written.
  void import();   ///< level 1, composites raised
  void step();     ///< level 2
  void schedule(); ///< level 3, with what is computed again
  void plan();     ///< level 4: where bytes lie, without kernels
  void lower();    ///< level 4, with the kernels that its launches name
  /// The passes of each phase that is still ahead, as kedge-opt takes them: a line a phase, "NAME PIPELINE".
  std::string pipelineText();

  mlir::ModuleOp module() { return *ir; }
  /// The IR that --emit asks for, as --save-ir writes it; once its phase is done.
  const std::string &text() const { return emitted; }
  /// Whether the plan stays within --memory-budget, and within --host-memory-budget once plan() has run;
  /// after schedule().
  bool fits();
  /// What fills the memory, `remedies` (lines), and last the smallest budget that would do; after plan().
  std::string whyNothingFits(const std::string &remedies);
  /// The memory report; call it after plan().
  nlohmann::json report();
  /// The program's launches with their predicted times, for --launches; after plan().
  const std::vector<analysis::ScheduledLaunch> &launches() const { return numbered; }
  /// Object code, launch table, executable at `output`.
  void link(const std::string &output);
  /// The same as a library: `output` is DIR/NAME of DIR/libNAME.so and its headers.
  void linkLibrary(const std::string &output);
  /// The program's kernels and data as one object file, to be linked with the runtime.
  void emitObject(const std::string &output);
  /// The schedule of a pipeline's stage, with the ranks that run it; after lower().
  std::string textOfRanks();
  /// What link() makes an executable of.
  ProgramParts programParts();
  /// Kernels as LLVM-ready IR, for --emit llvm; after lower().
  mlir::ModuleOp kernels() { return *kernelModule; }
  /// Kernels as PTX with what ptxas says of them, for --emit ptx; after lower().
  std::string ptx();

private:
  /// Generates the GPU's code, appends it to the program's data and tells where it is.
  nlohmann::json gpuTargetJson(std::vector<uint8_t> &data);
  /// Whether a phase has something to do.
  bool isWanted(Phase phase) const;
  void build(Phase phase, bool withKernels, mlir::OpPassManager &manager) const;
  void run(Phase phase, bool withKernels = false);
  void toExec(bool withKernels);
  pipelines::StepOptions stepOptions() const;
  pipelines::TargetOptions targetOptions() const;
  void save(Phase phase);
  bool isEmitted(Phase phase) const;
  std::string savedText(Phase phase);
  void resume();
  void applyParameterOptions();
  void forParameters(const char *option, const std::string &text, const rt::NamePattern &pattern,
                     llvm::function_ref<void(train::StateOp)> apply);
  void buildRematerialize(mlir::OpPassManager &manager) const;
  void noteWithoutEffect();
  void showFindings();
  void chooseLoss();
  void checkMicroBatch();
  std::map<std::string, std::vector<int64_t>> shapesOfParts() const;
  void checkSameBits(mlir::func::FuncOp training) const;
  void addMesh(nlohmann::json &report) const;
  void addCommunication(nlohmann::json &report);
  void checkBudget();
  int64_t hostBytes();
  std::string whyHostDoesNotFit(const std::string &remedies);

  const CompileOptions &options;
  mlir::MLIRContext context;
  model::Model model;
  std::optional<Diagnostics> diagnostics; ///< once the model is there
  lint::Report findings;
  mlir::OwningOpRef<mlir::ModuleOp> ir, kernelModule;
  Phase done = Phase::None;
  std::string emitted;
  bool edited = false;         ///< what a file of IR holds is not what was saved
  nlohmann::json savedReport;  ///< when the plan was made before
  exporter::StepCounts counts; ///< of the step, once it is there
  nlohmann::json facts;        ///< of the loss: what the launch table does not tell
  std::vector<analysis::ScheduledLaunch> scheduled, numbered;
};

} // namespace kedge::driver
