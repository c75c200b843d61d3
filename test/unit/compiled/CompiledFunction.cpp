#include "CompiledFunction.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Export/ProgramJson.h"
#include "kedge/Support/Error.h"
#include "passes/Lower/Codegen.h"
#include "passes/Lower/JitProgram.h"
#include "passes/Lower/KernelEmitter.h"
#include "passes/Memory/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Passes.h"
#include "runtime/core/Executor.h"
#include "runtime/core/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <cstring>

using namespace mlir;

namespace kedge::test {
namespace {

void runPasses(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(module.getContext());
  build(manager);
  if (failed(manager.run(module)))
    fail("a pass of the compiled path failed");
}

OwningOpRef<ModuleOp> emitKernels(ModuleOp module, std::vector<std::string> &names) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  lower::KernelEmitter emitter(*kernels);
  Builder builder(module.getContext());
  module.walk([&](sched::ClusterOp cluster) {
    auto kernel = emitter.emit(cluster);
    if (failed(kernel))
      fail("a kernel could not be generated");
    cluster->setAttr("kedge.kernel", builder.getStringAttr(kernel->name));
    cluster->setAttr("kedge.iterations", builder.getI64IntegerAttr(kernel->iterations));
    cluster->setAttr("kedge.grain", builder.getI64IntegerAttr(kernel->grain));
  });
  for (const lower::KernelInfo &info : emitter.emitted())
    names.push_back(info.name);
  return kernels;
}

std::map<std::string, RankedTensorType> outputTypes(ModuleOp module) {
  std::map<std::string, RankedTensorType> types;
  auto function = *module.getOps<func::FuncOp>().begin();
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto name = function.getResultAttrOfType<StringAttr>(index, "train.output"))
      types[name.getValue().str()] = cast<RankedTensorType>(function.getResultTypes()[index]);
  return types;
}
} // namespace

std::map<std::string, HostTensor> runCompiled(ModuleOp module, const std::map<std::string, HostTensor> &inputs) {
  auto types = outputTypes(module);
  runPasses(module, [](OpPassManager &manager) { pipelines::addSchedulePipeline(manager); });
  std::vector<std::string> names;
  OwningOpRef<ModuleOp> kernels = emitKernels(module, names);
  runPasses(module, [](OpPassManager &manager) { pipelines::addMemoryPipeline(manager, 2); });
  ProgramFacts facts;
  facts.modelPath = "/dev/null";
  facts.target = {{"kind", "cpu"}, {"threads", 2}};
  facts.options = {{"loss_kind", "none"}};
  ProgramImageParts parts = programJson(module, facts);
  std::string json = parts.json.dump();
  std::unique_ptr<lower::JitProgram> jit;
  if (!names.empty()) {
    auto objects = lower::compileKernels(*kernels, lower::KernelTarget::host(), /*optLevel=*/1);
    if (failed(objects))
      fail("code generation failed");
    jit = lower::JitProgram::create(*objects);
  }
  rt::ProgramImage image{json, parts.data.data(), parts.data.size(),
                         [&](const std::string &name) { return jit ? jit->lookup(name) : nullptr; }};
  rt::Program program = rt::parseProgram(json);
  rt::Executor executor(program, image, 2);
  rt::loadInitialValues(executor, image, {}, false);
  for (const rt::Place &place : program.functions.at("model").inputs) {
    const HostTensor &value = inputs.at(place.name);
    std::memcpy(executor.input("model", place.name), value.bytes.data(), value.bytes.size());
  }
  executor.run("model");
  std::map<std::string, HostTensor> outputs;
  for (auto &[name, type] : types) {
    HostTensor output{type, {}};
    size_t width = type.getElementType().isInteger(1) ? 1 : type.getElementTypeBitWidth() / 8;
    output.bytes.resize(width * type.getNumElements());
    std::memcpy(output.bytes.data(), executor.output("model", name), output.bytes.size());
    outputs[name] = std::move(output);
  }
  return outputs;
}

} // namespace kedge::test
