// --save-ir and --emit: the IR of a phase as text, and a compilation that goes on from it.
#include "driver/Compilation.h"
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/TextFile.h"
#include "lib/Text/ReadableText.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/exec/Executor.h"
#include <filesystem>

using namespace mlir;

namespace kedge::driver {
namespace {

/// A file of IR may be read from another folder.
void nameFilesAbsolutely(ModuleOp module) {
  for (auto state : module.getOps<train::StateOp>())
    if (auto weight = dyn_cast_if_present<train::WeightAttr>(state.getInitAttr()))
      state.setInitAttr(train::WeightAttr::get(module.getContext(),
                                               std::filesystem::absolute(weight.getFile().str()).string(),
                                               weight.getOffset(), weight.getLength()));
}

} // namespace

bool Compilation::isEmitted(Phase phase) const {
  const Emit emit = options.output.emit;
  return (emit == Emit::Onnx && phase == Phase::Model) || (emit == Emit::Train && phase == Phase::Step) ||
         (emit == Emit::Schedule && (phase == Phase::Schedule || phase == Phase::Rematerialize)) ||
         (emit == Emit::Exec && phase == Phase::Exec);
}

std::string Compilation::savedText(Phase phase) {
  SavedIr saved{phase,
                std::filesystem::absolute(options.model.model).string(),
                model.graphHash,
                options.arguments,
                counts,
                facts,
                {},
                rt::physicalCores(),
                edited};
  OwningOpRef<ModuleOp> copy = ir->clone();
  nameFilesAbsolutely(*copy);
  if (phase == Phase::Exec)
    saved.report = report();
  saved.putOn(*copy);
  return wholeText(*copy);
}

void Compilation::save(Phase phase) {
  const bool isOneOfAll = !options.isTrial() || options.isPipelined(); // each rank's is another text
  if (!isOneOfAll || (options.output.saveIr.empty() && !isEmitted(phase)))
    return;
  if (!options.output.saveIr.empty()) {
    std::filesystem::create_directories(options.output.saveIr);
    writeText(fmt::format("{}/{:02}-{}.mlir", options.output.saveIr, static_cast<int>(phase), nameOf(phase)),
              savedText(phase));
  }
  if (isEmitted(phase))
    emitted = emittedText(phase);
}

std::string Compilation::emittedText(Phase phase) {
  if (options.output.withPlaces)
    return savedText(phase);
  OwningOpRef<ModuleOp> copy = ir->clone();
  nameFilesAbsolutely(*copy);
  return text::readableText(*copy, options.output.only);
}

/// Of a pipeline a file is of one rank; the others' programs would be missing.
void Compilation::checkIsWhole() const {
  if (options.isPipelined() && isProgram(options.output.emit))
    fail("{}: is of one rank of --mesh {}; a program from it is not available yet, expected --emit with a "
         "level "
         "of IR, or the ONNX file",
         options.resumedFrom, options.model.mesh->text());
}

void Compilation::resume() {
  checkIsWhole();
  ir = parseIr(context, options.resumedFrom);
  SavedIr saved = SavedIr::takeFrom(*ir, options.resumedFrom);
  if (saved.graphHash != model.graphHash)
    fail("{}: was compiled from {}, which is another model now: its graph has the hash {}, expected {}",
         options.resumedFrom, saved.model, model.graphHash, saved.graphHash);
  done = saved.phase;
  counts = saved.counts;
  facts = saved.facts;
  savedReport = saved.report;
  edited = saved.edited;
  if (edited && !options.isTrial())
    note("{}: is not as it was saved, so the program will not export ONNX files: they would hold the graph "
         "of {}{}",
         options.resumedFrom, saved.model,
         done <= Phase::Model ? "; kedge-translate --export-onnx writes the edited model" : "");
  if (isEmitted(done))
    emitted = emittedText(done);
  if (done != Phase::Exec)
    return;
  if (saved.threads != rt::physicalCores())
    fail("{}: was planned for {} threads, this machine has {} cores; go on from a file of an earlier phase",
         options.resumedFrom, saved.threads, rt::physicalCores());
  // An edited file is checked again: with a buffer laid over a weight the program would run, and train
  // wrongly.
  PassManager checks(&context);
  kedge::pipelines::addChecks(checks);
  runPasses(checks, options.resumedFrom + ": not compiled: its memory or its order is wrong");
  for (auto state : ir->getOps<train::StateOp>())
    if (!state->hasAttr(exec::OffsetNote::getNameStr()))
      fail("{}: the state '{}' has no 'exec.offset', its place in the arena", options.resumedFrom,
           state.getSymName().str());
  kernelModule = kedge::pipelines::takeKernels(*ir);
  if (!kernelModule)
    fail("{}: holds no module of kernels, expected it after the schedule", options.resumedFrom);
}

} // namespace kedge::driver
