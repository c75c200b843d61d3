#include "test/support/CompiledFunction.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Export/Program/ProgramJson.h"
#include "lib/Support/Error.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/train/weights/Weights.h"
#include "test/support/Places.h"
#include <cstring>

using namespace mlir;

namespace kedge::test {
namespace {
constexpr int threads = 2;

void runPasses(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "; ";
    return success();
  });
  PassManager manager(module.getContext());
  build(manager);
  if (failed(manager.run(module)))
    fail("not compiled: {}", messages);
}

ObjectFiles compileKernels(ModuleOp kernels) {
  if (kernels.getBody()->empty())
    return {};
  auto objects = lower::compileKernels(kernels, lower::KernelTarget::host(), 1);
  if (failed(objects))
    fail("kernels are not compiled");
  return std::move(*objects);
}
} // namespace

struct CompiledFunction::Loaded {
  std::map<std::string, RankedTensorType> outputs;
  std::unique_ptr<lower::JitProgram> kernels;
  exporter::ProgramImageParts parts;
  std::string json;
  rt::ProgramImage image;
  rt::Program program;
  std::unique_ptr<rt::Executor> executor;

  const rt::ArenaSlot &place(const std::string &name) const {
    for (const rt::ArenaSlot &candidate : program.functions.at("model").outputs)
      if (candidate.name == name)
        return candidate;
    fail("the function has no output '{}'", name);
  }
};

CompiledFunction::CompiledFunction(OwningOpRef<ModuleOp> module, const std::string &modelPath)
    : loaded(std::make_unique<Loaded>()) {
  auto function = module->lookupSymbol<func::FuncOp>("model");
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    if (auto output = train::bindingOfResult(function, k, train::BindingKind::Output))
      loaded->outputs[output.getName().str()] = cast<RankedTensorType>(function.getResultTypes()[k]);
  test::givePlaces(*module);
  runPasses(*module, [](OpPassManager &manager) {
    pipelines::addSchedulePipeline(manager);
    pipelines::addLowerPipeline(manager, {.threads = threads});
  });
  ObjectFiles objects = compileKernels(*pipelines::takeKernels(*module));
  exporter::ProgramFacts facts;
  facts.name = "test";
  facts.modelPath = modelPath.empty() ? "/dev/null" : modelPath;
  facts.embedWeights = true;
  facts.target = facts.options = facts.plan = facts.skeleton = nlohmann::json::object();
  loaded->parts = exporter::programJson(*module, facts);
  loaded->json = loaded->parts.json.dump();
  if (!objects.empty())
    loaded->kernels = lower::JitProgram::create(objects);
  loaded->image = {loaded->json, loaded->parts.data.data(), loaded->parts.data.size(),
                   [this](const std::string &name) { return loaded->kernels->lookup(name); }};
  loaded->program = rt::parseProgram(loaded->json);
  loaded->executor = std::make_unique<rt::Executor>(loaded->program, loaded->image, threads);
  rt::loadInitialValues(*loaded->executor, loaded->image, {}, false);
}

CompiledFunction::~CompiledFunction() = default;

OwningOpRef<ModuleOp> CompiledFunction::isolate(func::FuncOp function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  func::FuncOp copy = function.clone();
  module->push_back(copy);
  train::setKind(copy, train::FunctionKind::Model);
  copy.setPublic();
  Builder builder(function.getContext());
  SmallVector<Type> inputs(copy.front().getArgumentTypes());
  auto results = copy.front().getTerminator()->getOperandTypes();
  copy.setFunctionType(builder.getFunctionType(inputs, results));
  auto named = [&](train::BindingKind kind, size_t index) {
    return train::boundTo(train::BindingAttr::get(function.getContext(), kind, std::to_string(index)));
  };
  SmallVector<Attribute> argAttrs, resultAttrs;
  for (size_t k = 0; k < inputs.size(); ++k)
    argAttrs.push_back(named(train::BindingKind::Input, k));
  for (size_t k = 0; k < results.size(); ++k)
    resultAttrs.push_back(named(train::BindingKind::Output, k));
  copy.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
  copy.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
  return module;
}

bool CompiledFunction::hasInput(const std::string &name) const {
  for (const rt::ArenaSlot &place : loaded->program.functions.at("model").inputs)
    if (place.name == name)
      return true;
  return false;
}

void CompiledFunction::setInput(const std::string &name, const interpret::HostTensor &tensor) {
  const rt::InputSpec *spec = loaded->program.input(name);
  if (!spec || spec->desc.bytes() != tensor.bytes.size())
    fail("input '{}': found {} bytes, expected {}", name, tensor.bytes.size(), spec ? spec->desc.bytes() : 0);
  if (!tensor.bytes.empty())
    std::memcpy(loaded->executor->input("model", name), tensor.bytes.data(), tensor.bytes.size());
}

void CompiledFunction::run() { loaded->executor->run("model"); }

interpret::HostTensor CompiledFunction::output(const std::string &name) const {
  const rt::ArenaSlot &place = loaded->place(name);
  const char *bytes = loaded->executor->read(place.offset, place.desc.bytes());
  return {loaded->outputs.at(name), std::vector<char>(bytes, bytes + place.desc.bytes())};
}

size_t CompiledFunction::launches() const { return loaded->program.functions.at("model").launches.size(); }

} // namespace kedge::test
