#include "driver/Compilation.h"
#include "driver/Algorithms.h"
#include "driver/GpuTarget.h"
#include "driver/KernelLevels.h"
#include "driver/OutputFiles.h"
#include "driver/RoundTrip.h"
#include "driver/options/ProgramOptions.h"
#include "lib/Analysis/Communication.h"
#include "lib/Analysis/Overlap.h"
#include "lib/Dialect/Exec/ExecOps.h"
#include "lib/Dialect/Registration.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Export/Program/ProgramJson.h"
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Link/Link.h"
#include "lib/Support/Error.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "runtime/exec/Executor.h"
#include "runtime/io/Printable.h"
#include "runtime/io/SameFile.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>
#include <filesystem>

using namespace mlir;

namespace kedge::driver {
namespace {

DialectRegistry &dialects() {
  static DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// MLIR prints real numbers with seven digits; the same bits need them all.
std::string withAllDigits(std::string pipeline, const pipelines::StepOptions &step) {
  const std::pair<const char *, double> numbers[] = {{"label-smoothing=", step.labelSmoothing},
                                                     {"momentum=", step.momentum},
                                                     {"clip-norm=", step.clipNorm},
                                                     {"scale-growth=", step.lossScale.growth},
                                                     {"scale-backoff=", step.lossScale.backoff},
                                                     {"scale-minimum=", step.lossScale.minimum},
                                                     {"init=", step.lossScale.init}};
  for (const auto &[name, value] : numbers)
    if (size_t at = pipeline.find(name); at != std::string::npos) {
      at += strlen(name);
      pipeline.replace(at, pipeline.find_first_of(" }", at) - at, fmt::format("{}", value));
    }
  return pipeline;
}

/// A file of IR may be read from another folder.
void nameFilesAbsolutely(ModuleOp module) {
  for (auto state : module.getOps<train::StateOp>())
    if (auto weight = dyn_cast_if_present<train::WeightAttr>(state.getInitAttr()))
      state.setInitAttr(train::WeightAttr::get(module.getContext(),
                                               std::filesystem::absolute(weight.getFile().str()).string(),
                                               weight.getOffset(), weight.getLength()));
}

/// The absolute path, alike however it was typed.
std::string placeOf(const std::string &path) {
  const std::filesystem::path place = std::filesystem::absolute(path), normal = place.lexically_normal();
  return rt::isSameFile(normal.string(), place.string()) ? normal.string()
                                                         : place.string(); // links may make ".." another
}

void checkRanks(const CompileOptions &options) {
  const std::vector<int64_t> &ranks = options.model.ranks;
  if (ranks.size() > 1)
    fail("--ranks {}: expected one number of ranks; only a program takes several (kedge compile -o PROGRAM)",
         fmt::join(ranks, ","));
  if (!options.replicas.empty())
    fail("--replicas {}: a plan is of one mesh; give --mesh replica=R,data=D for R machines",
         options.replicas);
  if (options.zero > 0 && ranks.front() == 1 && !options.isTrial && options.worlds.empty())
    fprintf(stderr, "kedge: note: --zero %d has no effect on one rank: give --ranks N\n",
            static_cast<int>(options.zero));
  else if (options.zero > 0 && options.model.meshOfRanks().sizeOf(rt::Mesh::kData) == 1 && !options.isTrial &&
           options.worlds.empty())
    fprintf(stderr,
            "kedge: note: --zero %d has no effect on a mesh with one rank along data: give --mesh data=N\n",
            static_cast<int>(options.zero));
}

/// Where an op's types cannot be inferred MLIR reports it at the op and ends the process; here the phase
/// fails.
bool runPasses(PassManager &manager, ModuleOp module) {
  struct Impossible {};
  llvm::ScopedFatalErrorHandler handler([](void *, const char *, bool) { throw Impossible(); });
  try {
    return succeeded(manager.run(module));
  } catch (const Impossible &) {
    return false;
  }
}

/// The sum over the functions of a step.
void addCopiesOfStep(nlohmann::json &report, ModuleOp planned, int64_t accumulate) {
  for (const char *name : {"to_host_bytes", "to_device_bytes"}) {
    int64_t bytes = 0;
    for (const nlohmann::json &entry : report["functions"]) {
      auto function = planned.lookupSymbol<exec::FunctionOp>(entry["name"].get<std::string>());
      if (int64_t runs = function.getKind() ? train::runsInStep(*function.getKind(), accumulate) : 0)
        bytes += runs * entry[name].get<int64_t>();
    }
    report["offload"][name] = bytes;
  }
}

} // namespace

Compilation::Compilation(const CompileOptions &options)
    : options(options), context(dialects(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false); // the message names the node
  if (std::string path = std::filesystem::absolute(options.model.model).string(); !rt::isUtf8(path))
    fail("{}: the path is not UTF-8, and programs and reports note it as text; rename the file or its "
         "folder, or name it by "
         "another path",
         path);
  model = model::loadModel(options.model.model, {.requireExternalData = false});
  checkFiles(options, model);
  if (!model.trainingInfo.empty() && !options.trainingOptions.empty())
    fail("{}: the model's training_info says how it trains: {} cannot be given with it (--loss none and "
         "--loss-output "
         "NAME can)",
         options.model.model, fmt::join(options.trainingOptions, ", "));
  if (!model.trainingInfo.empty() && options.precision == "fp16")
    fail("{}: --precision fp16: gradients of 16 bits need a loss scale, which the algorithm in the model's "
         "training_info does not "
         "have; expected fp32, bf16 or fp8",
         options.model.model);
  checkRanks(options);
  diagnostics.emplace(context, options.resumedFrom.empty() ? options.model.model : options.resumedFrom,
                      &model);
  findings = lint::prepare(model, options.model.lintOptions(), importer::lintOperators(context));
  bool shown = options.isTrial || !options.resumedFrom.empty();
  if (!shown)
    showFindings();
  if (findings.hasErrors())
    fail("{}: not compiled: lint found what would train wrongly (above). Mend the export, or use --repair, "
         "--train-mode "
         "or --allow CODE",
         options.model.model);
  if (!options.resumedFrom.empty())
    resume();
}

void Compilation::showFindings() {
  if (!findings.findings.empty())
    return (void)fprintf(stderr, "%s", lint::toText(findings, model).c_str());
  for (const auto *sentences : {&findings.changes, &findings.remarks})
    for (const std::string &sentence : *sentences)
      fprintf(stderr, "kedge: note: %s\n", sentence.c_str());
}

Compilation::~Compilation() = default;

bool Compilation::isWanted(Phase phase) const {
  return phase > done && (phase != Phase::Rematerialize || options.rematerializes());
}

pipelines::TargetOptions Compilation::targetOptions() const {
  return {options.onGpu(), options.convolution == "generated", rt::physicalCores(),
          !options.memoryBudget.empty()};
}

void Compilation::build(Phase phase, bool withKernels, OpPassManager &manager) const {
  switch (phase) {
  case Phase::None:
  case Phase::Import:
    return;
  case Phase::Model:
    pipelines::addRaisePipeline(manager);
    if (options.model.adapters.given())
      pipelines::addAdapterPipeline(manager, options.model.adapters);
    return;
  case Phase::Step:
    return pipelines::addStepPipeline(manager, stepOptions());
  case Phase::Schedule:
    return pipelines::addSchedulePipeline(manager, targetOptions());
  case Phase::Rematerialize:
    return buildRematerialize(manager);
  case Phase::Exec:
    return withKernels ? pipelines::addLowerPipeline(manager, targetOptions())
                       : pipelines::addMemoryPipeline(manager, rt::physicalCores());
  }
}

void Compilation::run(Phase phase, bool withKernels) {
  PassManager manager(&context);
  build(phase, withKernels, manager);
  if (!runPasses(manager, *ir))
    diagnostics->raise(
        fmt::format("{}: not compiled: the phase '{}' failed", options.model.model, nameOf(phase)));
  checkRoundTrip(*ir, nameOf(phase));
}

std::string Compilation::pipelineText() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (Phase phase : kPhases)
    if (phase != Phase::Import && isWanted(phase)) {
      PassManager manager(&context);
      build(phase, /*withKernels=*/true, manager);
      stream << nameOf(phase) << ' ';
      std::string pipeline;
      llvm::raw_string_ostream passes(pipeline);
      manager.printAsTextualPipeline(passes);
      stream << (phase == Phase::Step ? withAllDigits(std::move(pipeline), stepOptions()) : pipeline) << '\n';
    }
  return text;
}

bool Compilation::isEmitted(Phase phase) const {
  const std::string &emit = options.emit;
  return (emit == "onnx" && phase == Phase::Model) || (emit == "train" && phase == Phase::Step) ||
         (emit == "schedule" && (phase == Phase::Schedule || phase == Phase::Rematerialize)) ||
         (emit == "exec" && phase == Phase::Exec);
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
  if (options.isTrial || (options.saveIr.empty() && !isEmitted(phase)))
    return;
  std::string text = savedText(phase);
  if (!options.saveIr.empty()) {
    std::filesystem::create_directories(options.saveIr);
    writeText(fmt::format("{}/{:02}-{}.mlir", options.saveIr, static_cast<int>(phase), nameOf(phase)), text);
  }
  if (isEmitted(phase))
    emitted = std::move(text);
}

void Compilation::resume() {
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
  if (edited && !options.isTrial)
    fprintf(stderr,
            "kedge: note: %s: is not as it was saved, so the program will not export ONNX files: they would "
            "hold the graph of %s%s\n",
            options.resumedFrom.c_str(), saved.model.c_str(),
            done <= Phase::Model ? "; kedge-translate --export-onnx writes the edited model" : "");
  if (isEmitted(done))
    emitted = savedText(done);
  if (done != Phase::Exec)
    return;
  if (saved.threads != rt::physicalCores())
    fail("{}: was planned for {} threads, this machine has {} cores; go on from a file of an earlier phase",
         options.resumedFrom, saved.threads, rt::physicalCores());
  // An edited file is checked again: with a buffer laid over a weight the program would run, and train
  // wrongly.
  PassManager checks(&context);
  pipelines::addChecks(checks);
  if (!runPasses(checks, *ir))
    diagnostics->raise(options.resumedFrom + ": not compiled: its memory or its order is wrong");
  for (auto state : ir->getOps<train::StateOp>())
    if (!state->hasAttr("exec.offset"))
      fail("{}: the state '{}' has no 'exec.offset', its place in the arena", options.resumedFrom,
           state.getSymName().str());
  kernelModule = pipelines::takeKernels(*ir);
  if (!kernelModule)
    fail("{}: holds no module of kernels, expected it behind the schedule", options.resumedFrom);
}

void Compilation::import() {
  if (done < Phase::Import) {
    importer::ImportOptions importing;
    importing.shapes = shapesOfParts();
    importing.roles = importer::rolesOf(findings);
    ir = importer::importModel(context, model, importing);
    if (!options.model.adapters.given())
      applyParameterOptions();
    checkRoundTrip(*ir, "import");
    save(Phase::Import);
  }
  if (done >= Phase::Model)
    return;
  run(Phase::Model);
  if (options.model.adapters.given())
    applyParameterOptions(); // what trains is known now
  save(Phase::Model);
}

void Compilation::step() {
  if (done >= Phase::Step)
    return;
  chooseLoss();
  checkPrecision(options);
  if (!options.isTrial && !options.accumulatorType.empty() && options.accumulate == 1)
    fprintf(stderr,
            "kedge: note: --accumulate-dtype %s: without --accumulate there are no accumulators: without "
            "effect\n",
            options.accumulatorType.c_str());
  run(Phase::Step);
  using train::FunctionKind;
  func::FuncOp function = train::functionOf(*ir, FunctionKind::Step);
  if (!function)
    function = train::functionOf(*ir, FunctionKind::Micro);
  checkSameBits(function);
  counts = exporter::countStep(function);
  facts = lossFacts(function, stepOptions());
  checkMicroBatch();
  facts["training_info"] = !model.trainingInfo.empty();
  save(Phase::Step);
}

void Compilation::schedule() {
  if (done >= Phase::Exec)
    return;
  analysis::DeviceModel device =
      options.deviceName().empty() ? analysis::thisMachine() : analysis::loadDevice(options.deviceName());
  options.hostLimit(); // an error before the work
  if (options.convolution != "cudnn" && !options.onGpu())
    fail("--convolution {} needs --target cuda", options.convolution);
  if (isWanted(Phase::Schedule)) {
    run(Phase::Schedule);
    save(Phase::Schedule);
  }
  if (isWanted(Phase::Rematerialize)) {
    run(Phase::Rematerialize);
    noteWithoutEffect();
    save(Phase::Rematerialize);
  }
  scheduled = analysis::launchesOf(*ir, device);
}

void Compilation::toExec(bool withKernels) {
  const bool numbers = !options.launchFile.empty() || options.model.ranks.front() > 1;
  if (numbers)
    analysis::markLaunches(*ir);
  run(Phase::Exec, withKernels);
  if (numbers)
    numbered = analysis::launchesAsRun(*ir, scheduled);
  checkBudget();
  if (withKernels)
    save(Phase::Exec);
  kernelModule = pipelines::takeKernels(*ir);
}

void Compilation::plan() {
  if (done >= Phase::Exec)
    return;
  toExec(/*withKernels=*/false);
}

void Compilation::lower() {
  if (done >= Phase::Exec)
    return;
  toExec(/*withKernels=*/true);
}

std::string Compilation::ptx() {
  const std::string arch = architectureOf(options.target);
  return ptxText(compileForGpu(*kernelModule, arch), arch);
}

/// Communication between ranks, and the seconds of it that do not overlap with computing.
void Compilation::addCommunication(nlohmann::json &report) {
  for (const analysis::CommunicationRow &row : analysis::communicationOf(*ir, options.accumulate)) {
    report["communication"].push_back({{"collective", row.collective},
                                       {"type", row.type},
                                       {"calls", row.calls},
                                       {"elements", row.elements},
                                       {"bytes", row.bytes}});
    if (!options.model.mesh.empty())
      report["communication"].back()["axis"] = row.axis;
  }
  const analysis::StepOverlap overlap = analysis::overlapOf(*ir, numbered, options.accumulate);
  report["communication_seconds"] = overlap.seconds;
  report["communication_hidden_seconds"] = overlap.hidden;
  report["step_seconds"] = report["step_seconds"].get<double>() - overlap.hidden;
  report["ranks"] = options.model.ranks.front();
  report["zero"] = options.zero;
  if (!options.model.mesh.empty())
    addMesh(report);
}

nlohmann::json Compilation::report() {
  if (!savedReport.is_null())
    return savedReport;
  counts.gradientSize = options.gradientType.empty() ? 0 : options.gradientType == "fp32" ? 4 : 2;
  nlohmann::json report = exporter::planReport(*ir, counts);
  if (!options.maxBatchInput.empty())
    report["max_batch"] = {{"input", options.maxBatchInput}, {"batch", options.maxBatch}};
  analysis::StepCost cost = analysis::stepCost(scheduled, options.accumulate);
  if (std::optional<int64_t> limit = options.hostLimit()) {
    report["host_budget_bytes"] = *limit;
    report["fits"] = fits();
  }
  report["step_seconds"] = cost.seconds;
  if (options.model.ranks.front() > 1)
    addCommunication(report);
  report["flops"] = cost.flops;
  for (nlohmann::json &function : report["functions"])
    function["seconds"] = cost.functionSeconds[function["name"]];
  if (report.contains("offload"))
    addCopiesOfStep(report, *ir, options.accumulate);
  return report;
}

namespace {

ObjectFiles objectsOf(const ProgramParts &parts, const CompileOptions &options) {
  ObjectFiles objects = parts.kernels;
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(parts.data.data()), parts.data.size());
  objects.push_back(
      lower::emitProgramImage(parts.json, bytes, parts.names, KernelLevels(options.cpus).lowest()));
  return objects;
}

} // namespace

void linkParts(const ProgramParts &parts, const CompileOptions &options, const std::string &output) {
  link::linkProgram(objectsOf(parts, options), output,
                    options.onGpu() ? link::RuntimeKind::Cuda : link::RuntimeKind::Cpu);
}

ProgramParts Compilation::programParts() {
  const KernelLevels levels(options.cpus);
  std::vector<std::string> names;
  for (auto function : ir->getOps<exec::FunctionOp>())
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (!options.onGpu() && !launch.getLibrary() && !llvm::is_contained(names, launch.getKernel()))
        names.push_back(launch.getKernel().str());
  exporter::ProgramFacts program;
  program.name = rt::printable(std::filesystem::path(options.output).filename().string());
  program.modelPath = placeOf(options.model.model);
  program.embedWeights = options.embedWeights;
  program.options = programOptions(options, facts, *ir);
  if (!findings.drawsInEvaluation.empty())
    program.options["draws_in_evaluation"] = findings.drawsInEvaluation;
  program.plan = report();
  program.labels = facts.value("labels", "");
  std::vector<uint8_t> data;
  program.skeleton = edited ? nlohmann::json::object({{"refused", options.resumedFrom}})
                            : exportTemplates(*ir, findings, options.embedWeights, data);
  program.target = options.onGpu() ? gpuTargetJson(data) : levels.target();
  exporter::ProgramImageParts parts = exporter::programJson(*ir, program, std::move(data));
  if (!options.algorithms.empty())
    embedAlgorithms(options.algorithms, parts.json);
  ProgramParts made;
  made.json = parts.json.dump();
  made.data.assign(parts.data.begin(), parts.data.end());
  if (!options.onGpu()) {
    if (!options.worlds.empty()) {
      const std::string &prefix = options.kernelPrefix;
      lower::renameKernels(*kernelModule, prefix, "");
      for (std::string &name : names)
        name = prefix + name;
    }
    auto kernels = levels.compile(*kernelModule, names);
    if (failed(kernels))
      diagnostics->raise(options.model.model + ": not compiled: no machine code could be generated");
    made.kernels = std::move(*kernels);
    made.names = std::move(names);
  }
  return made;
}

nlohmann::json Compilation::gpuTargetJson(std::vector<uint8_t> &data) {
  const std::string arch = architectureOf(options.target);
  lower::gpu::GpuCode code = compileForGpu(*kernelModule, arch);
  if (!code.note.empty() && !options.isTrial)
    fprintf(stderr, "kedge: note: %s\n", code.note.c_str());
  nlohmann::json target = {{"kind", "cuda"}, {"arch", arch}};
  const auto add = [&](const char *key, llvm::StringRef bytes) {
    if (bytes.empty())
      return;
    data.resize((data.size() + 63) / 64 * 64);
    target[key] = {{"offset", data.size()}, {"length", bytes.size()}};
    data.insert(data.end(), bytes.begin(), bytes.end());
  };
  add("ptx", code.ptx);
  add("cubin", llvm::StringRef(code.cubin.data(), code.cubin.size()));
  return target;
}

void Compilation::link(const std::string &output) { linkParts(programParts(), options, output); }

void Compilation::linkLibrary(const std::string &output) {
  const link::LibraryPlace place = link::libraryPlace(output);
  kedge::link::linkLibrary(objectsOf(programParts(), options), place);
  link::writeLibraryFiles(place);
}

void Compilation::emitObject(const std::string &output) {
  link::linkObjects(objectsOf(programParts(), options), output);
}

} // namespace kedge::driver
