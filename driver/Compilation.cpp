#include "driver/Compilation.h"
#include "driver/Algorithms.h"
#include "driver/ProgramOptions.h"
#include "driver/RoundTrip.h"
#include "kedge/Dialect/Registration.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Link/Link.h"
#include "kedge/Export/Plan/PlanReport.h"
#include "kedge/Export/Program/ProgramJson.h"
#include "kedge/Export/Skeleton/Skeleton.h"
#include "kedge/Import/GraphImporter.h"
#include "kedge/Import/LintOps.h"
#include "kedge/Support/Error.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "runtime/exec/Executor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include <filesystem>

using namespace mlir;

namespace kedge::driver {
namespace {

DialectRegistry &dialects() {
  static DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// What the first Gradient of training_info differentiates: the loss, when nothing else is named.
std::string derivedValue(const model::Model &model) {
  for (const model::TrainingInfo &info : model.trainingInfo)
    for (const model::Node &node : info.algorithm->nodes)
      if (node.is("Gradient", "ai.onnx.preview.training"))
        return node.attrString("y");
  return "";
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
  model = model::loadModel(options.model.model, {.requireExternalData = false});
  if (!model.trainingInfo.empty() && !options.trainingOptions.empty())
    fail("{}: the model's training_info says how it trains: {} cannot be given with it (--loss none and --loss-output "
         "NAME can)",
         options.model.model, fmt::join(options.trainingOptions, ", "));
  findings = lint::prepare(model, options.model.lintOptions(), lint::lintOperators(context));
  bool shown = options.isTrial || !options.resumedFrom.empty();
  if (!findings.findings.empty() && !shown)
    fprintf(stderr, "%s", lint::toText(findings, model).c_str());
  if (findings.hasErrors())
    fail("{}: not compiled: lint found what would train wrongly (above). Mend the export, or use --repair, --train-mode "
         "or --allow CODE",
         options.model.model);
  if (!options.resumedFrom.empty())
    resume();
}

Compilation::~Compilation() = default;

void Compilation::run(Phase phase, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(&context);
  build(manager);
  if (failed(manager.run(*ir)))
    fail("{}: not compiled: {} failed (above)", options.model.model, nameOf(phase));
  checkRoundTrip(*ir, nameOf(phase));
}

void Compilation::save(Phase phase) {
  if (options.saveIr.empty())
    return;
  SavedIr saved{phase, std::filesystem::absolute(options.model.model).string(), model.graphHash, options.arguments,
                composites, facts, {}, rt::physicalCores()};
  OwningOpRef<ModuleOp> copy = ir->clone();
  if (phase == Phase::Exec) {
    saved.report = report();
    copy->push_back(kernelModule->clone());
  }
  saved.putOn(*copy);
  std::filesystem::create_directories(options.saveIr);
  writeText(fmt::format("{}/{:02}-{}.mlir", options.saveIr, static_cast<int>(phase), nameOf(phase)), wholeText(*copy));
}

void Compilation::resume() {
  if (options.onGpu())
    GpuTarget::loadDialects(context);
  ir = parseIr(context, options.resumedFrom);
  SavedIr saved = SavedIr::takeFrom(*ir, options.resumedFrom);
  if (saved.graphHash != model.graphHash)
    fail("{}: was compiled from {}, which is another model now: its graph has the hash {}, expected {}", options.resumedFrom,
         saved.model, model.graphHash, saved.graphHash);
  done = saved.phase;
  composites = saved.composites;
  facts = saved.facts;
  savedReport = saved.report;
  if (done != Phase::Exec)
    return;
  if (saved.threads != rt::physicalCores())
    fail("{}: was planned for {} threads, this machine has {} cores; go on from a file of an earlier phase",
         options.resumedFrom, saved.threads, rt::physicalCores());
  auto kernels = ir->getOps<ModuleOp>();
  if (kernels.empty())
    fail("{}: holds no module of kernels, expected it behind the schedule", options.resumedFrom);
  kernelModule = *kernels.begin();
  kernelModule.get()->remove();
  if (options.onGpu())
    gpu = makeTarget(*kernelModule);
}

void Compilation::import() {
  if (done >= Phase::Model)
    return;
  ImportOptions importing;
  importing.shapes = options.model.shapes;
  importing.roles = lint::rolesOf(findings);
  ir = importModel(context, model, importing);
  applyParameterOptions();
  recordBounds(*ir, options.model.labels);
  checkRoundTrip(*ir, "import");
  run(Phase::Model, [](OpPassManager &manager) { pipelines::addRaisePipeline(manager); });
  save(Phase::Model);
}

void Compilation::applyParameterOptions() {
  auto excluded = patterns(options.weightDecayExclude, "--weight-decay-exclude");
  auto scales = scaledPatterns(options.lrScale);
  Builder builder(&context);
  for (auto state : ir->getOps<train::StateOp>()) {
    std::string name = state.getOnnxName().value_or(state.getSymName()).str();
    if (matchesAny(excluded, name))
      state.setDecayAttr(builder.getBoolAttr(false));
    for (const auto &[pattern, scale] : scales)
      if (std::regex_search(name, pattern))
        state.setLrScaleAttr(builder.getF64FloatAttr(scale));
  }
}

void Compilation::step() {
  if (done >= Phase::Step)
    return;
  pipelines::StepOptions step;
  const ModelOptions &m = options.model;
  step.loss = !m.loss.empty() ? m.loss : m.lossOutput.empty() ? "cross-entropy" : "none";
  step.logits = m.logits;
  step.labels = m.labels;
  step.lossOutput = m.lossOutput;
  if (!model.trainingInfo.empty()) {
    step.loss = "none";
    if (m.lossOutput.empty())
      step.lossOutput = derivedValue(model);
  }
  step.classAxis = m.classAxis.value_or(-100);
  step.ignoreIndex = m.ignoreIndex;
  step.labelSmoothing = m.labelSmoothing;
  step.accumulate = options.accumulate;
  step.optimizer = options.optimizer;
  step.momentum = options.momentum;
  step.nesterov = options.nesterov;
  step.clipNorm = options.clipNorm;
  step.logitsChunk = options.logitsChunk;
  run(Phase::Step, [&](OpPassManager &manager) { pipelines::addStepPipeline(manager, step); });
  using train::FunctionKind;
  func::FuncOp function = train::functionOf(*ir, options.accumulate > 1 ? FunctionKind::Micro : FunctionKind::Step);
  composites = countComposites(function);
  facts = lossFacts(*ir, function, step);
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
  if (done < Phase::Schedule) {
    run(Phase::Schedule, [](OpPassManager &manager) { pipelines::addSchedulePipeline(manager); });
    if (options.onGpu())
      (*ir)->setAttr("kedge.target", StringAttr::get(&context, "cuda"));
    noteWorkspaces();
    save(Phase::Schedule);
  }
  if (options.rematerializes() && done < Phase::Rematerialize) {
    if (!options.offload.empty())
      offloadStates();
    rematerialize();
    save(Phase::Rematerialize);
  }
  scheduled = analysis::launchesOf(*ir, device);
}

std::unique_ptr<GpuTarget> Compilation::makeTarget(ModuleOp host) const {
  using lower::gpu::Convolutions;
  return std::make_unique<GpuTarget>(host, architectureOf(options.target),
                                     options.convolution == "generated" ? Convolutions::Generated : Convolutions::Cudnn);
}

void Compilation::noteWorkspaces() {
  if (!options.onGpu())
    return;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(&context));
  makeTarget(*scratch)->emit(*ir);
}

std::string Compilation::ptx() { return ptxText(gpu->compile(), gpu->arch()); }

void Compilation::emitKernels() {
  if (done >= Phase::Exec)
    return;
  kernelModule = ModuleOp::create(UnknownLoc::get(&context));
  if (options.onGpu()) {
    gpu = makeTarget(*kernelModule);
    return gpu->emit(*ir);
  }
  lower::KernelEmitter emitter(*kernelModule);
  bool ok = true;
  Builder builder(&context);
  ir->walk([&](sched::ClusterOp cluster) {
    auto kernel = emitter.emit(cluster);
    if (failed(kernel))
      return void(ok = false);
    cluster->setAttr("kedge.kernel", builder.getStringAttr(kernel->name));
    cluster->setAttr("kedge.iterations", builder.getI64IntegerAttr(kernel->iterations));
    cluster->setAttr("kedge.grain", builder.getI64IntegerAttr(kernel->grain));
  });
  if (!ok)
    fail("{}: not compiled: a kernel could not be generated (above)", options.model.model);
}

void Compilation::plan() {
  if (done >= Phase::Exec)
    return;
  if (kernelModule)
    checkRoundTrip(*kernelModule, "kernels");
  if (!options.launchFile.empty())
    analysis::markLaunches(*ir);
  run(Phase::Exec, [](OpPassManager &manager) { pipelines::addPlanPipeline(manager, rt::physicalCores()); });
  if (gpu)
    gpu->group(*ir);
  run(Phase::Exec, [](OpPassManager &manager) { pipelines::addPlacementPipeline(manager); });
  if (!options.launchFile.empty())
    numbered = analysis::launchesAsRun(*ir, scheduled);
  save(Phase::Exec);
}

nlohmann::json Compilation::report() {
  if (!savedReport.is_null())
    return savedReport;
  nlohmann::json report = planReport(*ir, composites);
  if (!options.maxBatchInput.empty())
    report["max_batch"] = {{"input", options.maxBatchInput}, {"batch", options.maxBatch}};
  analysis::StepCost cost = analysis::stepCost(scheduled, options.accumulate);
  if (std::optional<int64_t> limit = options.hostLimit()) {
    report["host_budget_bytes"] = *limit;
    report["fits"] = fits();
  }
  report["step_seconds"] = cost.seconds;
  report["flops"] = cost.flops;
  for (nlohmann::json &function : report["functions"])
    function["seconds"] = cost.functionSeconds[function["name"]];
  if (report.contains("offload"))
    addCopiesOfStep(report, *ir, options.accumulate);
  return report;
}

struct Compilation::Objects {
  ObjectFiles files;
};

Compilation::Objects Compilation::compileObjects() {
  lower::KernelTarget target = lower::KernelTarget::host();
  std::vector<std::string> names;
  for (auto function : ir->getOps<exec::FunctionOp>())
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (!gpu && !launch.getLibrary() && !llvm::is_contained(names, launch.getKernel()))
        names.push_back(launch.getKernel().str());
  ProgramFacts program;
  program.name = std::filesystem::path(options.output).filename().string();
  program.modelPath = std::filesystem::absolute(options.model.model).string();
  program.embedWeights = options.embedWeights;
  program.options = programOptions(options, facts, *ir);
  program.plan = report();
  program.labels = facts.value("labels", "");
  std::vector<uint8_t> data;
  program.skeleton = exportSkeletons(*ir, findings, options.embedWeights, data);
  if (gpu)
    program.target = gpuTargetJson(data);
  else
    program.target = {{"kind", "cpu"}, {"triple", target.triple}, {"cpu", target.cpu}, {"features", target.required},
                      {"threads", rt::physicalCores()}};
  ProgramImageParts parts = programJson(*ir, program, std::move(data));
  if (!options.algorithms.empty())
    embedAlgorithms(options.algorithms, parts.json);
  std::string json = parts.json.dump();
  Objects objects;
  if (!gpu) {
    auto kernels = lower::compileKernels(*kernelModule, target);
    if (failed(kernels))
      fail("{}: not compiled: code generation failed (above)", options.model.model);
    objects.files = std::move(*kernels);
  }
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(parts.data.data()), parts.data.size());
  objects.files.push_back(lower::emitProgramImage(json, bytes, names, target));
  return objects;
}

nlohmann::json Compilation::gpuTargetJson(std::vector<uint8_t> &data) {
  lower::gpu::GpuCode code = gpu->compile();
  if (!code.note.empty() && !options.isTrial)
    fprintf(stderr, "kedge: note: %s\n", code.note.c_str());
  nlohmann::json target = {{"kind", "cuda"}, {"arch", gpu->arch()}};
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

void Compilation::link(const std::string &output) {
  linkProgram(compileObjects().files, output, options.onGpu() ? RuntimeKind::Cuda : RuntimeKind::Cpu);
}

void Compilation::emitObject(const std::string &output) { linkObjects(compileObjects().files, output); }

} // namespace kedge::driver
