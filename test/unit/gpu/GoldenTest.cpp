// Every cluster and library call of the golden models: the GPU's kernels compute what the CPU's do.
#include "kedge/InitAllDialects.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Support/Error.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines/Pipelines.h"
#include "test/unit/gpu/KernelPair.h"
#include "test/unit/gpu/LibraryCase.h"
#include "llvm/ADT/StringSet.h"
#include <filesystem>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

struct Golden {
  std::string folder; ///< below test/golden, or below the shared models
  bool shared;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::string loss = "cross-entropy", logits = "logits", lossOutput, optimizer = "adamw";
  bool trainMode = false;
  double clipNorm = 0;
};

std::string pathOf(const Golden &golden) {
  std::string root =
      golden.shared ? std::string(KEDGE_SHARED_DIR) + "/models" : KEDGE_SOURCE_DIR "/test/golden";
  return root + "/" + golden.folder + "/model.onnx";
}

/// The training step at level 3, as the tool makes it.
OwningOpRef<ModuleOp> schedule(MLIRContext &context, const Golden &golden,
                               const std::string &precision = "fp32", bool forGpu = false) {
  model::Model model = model::loadModel(pathOf(golden), {.requireExternalData = false});
  lint::LintOptions options;
  options.loss = valueOf<LossFunction>(golden.loss);
  options.logits = golden.logits;
  if (!golden.lossOutput.empty())
    options.lossOutputs = {golden.lossOutput};
  options.mode = golden.trainMode ? lint::Mode::Training : lint::Mode::Asked;
  lint::Report findings = lint::prepare(model, options, importer::lintOperators(context));
  importer::ImportOptions importing;
  importing.shapes = golden.shapes;
  importing.roles = importer::rolesOf(findings);
  OwningOpRef<ModuleOp> module = importer::importModel(context, model, importing);
  pipelines::StepOptions step;
  step.loss.kind = valueOf<LossFunction>(golden.loss);
  step.loss.logits = golden.logits;
  step.loss.lossOutput = LossOutputs::parse(golden.lossOutput);
  step.update.optimizer = valueOf<autodiff::Optimizer>(golden.optimizer);
  step.update.clipNorm = golden.clipNorm;
  step.precision = valueOf<pipelines::Precision>(precision);
  step.lossScale.scales = step.precision == pipelines::Precision::Fp16;
  PassManager manager(&context);
  pipelines::TargetOptions target;
  target.gpu = forGpu;
  pipelines::addRaisePipeline(manager, target);
  pipelines::addStepPipeline(manager, step);
  if (forGpu)
    target.convolutions = lower::Convolutions::Generated;
  pipelines::addSchedulePipeline(manager, target);
  if (failed(manager.run(*module)))
    fail("{} is not compiled", golden.folder);
  return module;
}

struct Ptx {
  const char *precision, *arch;
};

/// One for each model, another for the next, so that every precision meets every architecture; all of them
/// with KEDGE_EVERY_PTX in the environment.
std::vector<Ptx> ptxOf(const std::string &folder);

class GoldenKernels : public testing::TestWithParam<Golden> {
protected:
  GoldenKernels() : context(dialects(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    if (std::filesystem::exists(pathOf(GetParam())))
      module = schedule(context, GetParam());
  }
  static DialectRegistry dialects() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module; ///< none: the model is not here
};

/// Different calls that generated kernels compute.
void forEachCall(ModuleOp module, llvm::function_ref<void(sched::LibraryOp, const std::string &)> take) {
  llvm::StringSet<> seen;
  module.walk([&](sched::LibraryOp call) {
    std::string text;
    llvm::raw_string_ostream(text) << call.getKernel() << call.getAttrs() << call->getOperandTypes() << " -> "
                                   << call->getResultTypes();
    if (!lower::gpu::GpuEmitter::isRuntimeCall(call, lower::Convolutions::Generated) &&
        seen.insert(text).second)
      take(call, text);
  });
}

TEST_P(GoldenKernels, OfLibraryCallsEqualTheCpu) {
  if (!module)
    GTEST_SKIP() << pathOf(GetParam()) << " is not here";
  forEachCall(*module, [](sched::LibraryOp call, const std::string &text) {
    EXPECT_EQ(compareWithCpu(call, optionsOf(call)), "") << text;
  });
}

TEST_P(GoldenKernels, EqualTheCpu) {
  if (!module)
    GTEST_SKIP() << pathOf(GetParam()) << " is not here";
  KernelPair pair(*module);
  EXPECT_GT(pair.size(), 5u);
  for (size_t number = 0; number < pair.size(); ++number) {
    // Second moments and variances are not negative; logits are of any sign.
    EXPECT_EQ(pair.compare(number, 1, 0.1f, 2.0f), "") << pair.text(number);
    EXPECT_EQ(pair.compare(number, 2, -2.0f, 2.0f), "") << pair.text(number);
  }
}

/// As ptxas gets them, in the interpreter of PTX. test/cuda/ptx-findings.test runs whole plans there.
TEST_P(GoldenKernels, AsPtxEqualTheCpu) {
  if (!module)
    GTEST_SKIP() << pathOf(GetParam()) << " is not here";
  for (const Ptx &ptx : ptxOf(GetParam().folder)) {
    SCOPED_TRACE(std::string(ptx.precision) + " " + ptx.arch);
    OwningOpRef<ModuleOp> step = schedule(context, GetParam(), ptx.precision, true);
    KernelPair pair(*step, ptx.arch);
    for (size_t cluster = 0; cluster < pair.size(); ++cluster)
      EXPECT_EQ(pair.compare(cluster, 1, 0.1f, 2.0f), "") << pair.text(cluster);
    forEachCall(*step, [&](sched::LibraryOp call, const std::string &text) {
      EXPECT_EQ(compareWithCpu(call, optionsOf(call), ptx.arch), "") << text;
    });
  }
}

const Golden kModels[] = {
    {"perceptron", false, {{"input", {8, 10}}}, "mse"},
    {"gpt", false, {{"input_ids", {4, 24}}}},
    {"convnet", false, {{"pixels", {6, 3, 10, 10}}}, "cross-entropy", "logits", "", "sgd", true},
    {"mlp", true, {{"input", {8, 12}}}, "mse", "output", "", "sgd"},
    {"gpt2", true, {{"input_ids", {3, 31}}}, "cross-entropy", "logits", "", "adamw", false, 1.0},
    {"gpt2-dropout", true, {{"input_ids", {4, 32}}}},
    {"llama", true, {{"input_ids", {3, 29}}}},
    {"bert", true, {{"input_ids", {3, 23}}, {"attention_mask", {3, 23}}, {"token_type_ids", {3, 23}}}},
    {"vit", true, {{"pixel_values", {3, 3, 16, 16}}}},
    {"resnet", true, {{"pixels", {3, 3, 16, 16}}}, "cross-entropy", "logits", "", "adamw", true},
    {"unet", true, {{"pixels", {2, 3, 16, 16}}}, "bce-with-logits"},
    {"segment", true, {{"pixels", {4, 3, 12, 12}}}},
    {"loss-in-graph", true, {{"input_ids", {4, 16}}, {"labels", {4, 16}}}, "none", "", "loss"},
};

std::vector<Ptx> ptxOf(const std::string &folder) {
  std::vector<Ptx> all;
  for (const char *arch : {"sm_90", "sm_80", "sm_100"})
    for (const char *precision : {"bf16", "fp16", "fp32"})
      all.push_back({precision, arch});
  const bool isEvery = std::getenv("KEDGE_EVERY_PTX") != nullptr;
  const auto model = llvm::find_if(kModels, [&](const Golden &golden) { return golden.folder == folder; });
  std::vector<Ptx> chosen = isEvery ? all : std::vector{all[(model - kModels) % all.size()]};
  // Other models have no products of multiples of 16 rows.
  if (folder == "gpt" || (isEvery && folder == "gpt2-dropout"))
    chosen.push_back({"fp8", "sm_90"});
  return chosen;
}

std::string nameOf(const testing::TestParamInfo<Golden> &info) {
  std::string name = info.param.folder;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenKernels, testing::ValuesIn(kModels), nameOf);

} // namespace
} // namespace kedge::test
