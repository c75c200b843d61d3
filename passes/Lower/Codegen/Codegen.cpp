#include "passes/Lower/Codegen/Codegen.h"
#include "lib/Support/Error.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Lower/Cluster/MathLowering.h"
#include "passes/Lower/Codegen/CodegenInternal.h"
#include "passes/Lower/Codegen/KernelUnits.h"
#include "passes/Lower/Codegen/SharedCode.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <atomic>
#include <map>
#include <mutex>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

/// LLVM's O2 for what the emitter makes: loops that are vectors and unrolled already, with pointers that do
/// not alias. Left out is what finds nothing in them: vectorizers, loop-load-elim, loop-deletion,
/// jump-threading, memcpyopt, dse, bdce, unswitching, three of seven times instcombine.
constexpr StringLiteral kPipeline =
    "inferattrs,function<eager-inv>(simplifycfg<keep-loops>,sroa<modify-cfg>,early-cse<>),ipsccp,globalopt,"
    "function<eager-inv>(instcombine<max-iterations=1;no-verify-fixpoint>,"
    "simplifycfg<keep-loops;switch-range-to-icmp>),"
    "cgscc(devirt<4>(inline,function-attrs<skip-non-recursive-function-attrs>,function<eager-inv;no-rerun>("
    "sroa<modify-cfg>,early-cse<memssa>,correlated-propagation,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,tailcallelim,reassociate,"
    "loop-mssa(loop-rotate<header-duplication;no-prepare-for-lto>,licm<allowspeculation>),"
    "simplifycfg<keep-loops;switch-range-to-icmp>,instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop(loop-idiom,indvars,loop-unroll-full),sroa<modify-cfg>,vector-combine,gvn<>,sccp,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,correlated-propagation,adce,"
    "loop-mssa(licm<allowspeculation>)),function-attrs)),"
    "function<eager-inv>(loop(loop-rotate<header-duplication;no-prepare-for-lto>),vector-combine,"
    "loop-unroll<O2>,instcombine<max-iterations=1;no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),"
    "instsimplify,div-rem-pairs,"
    "simplifycfg<no-keep-loops;switch-range-to-icmp;switch-to-arithmetic;"
    "hoist-loads-stores-with-cond-faulting;speculate-unpredictables>)";

/// Machines that Kedge does not run on, by the level of their processors: what every processor of ARMv8-A
/// has, NEON among it, and SVE above; levels of the x86-64 psABI. macOS gives a process the registers of
/// AVX-512 only when it first uses them, so that no program can ask for them: its programs have AVX2.
struct MachineLevel {
  StringRef name, triple, cpu, features;
  int vectorScale = 0;
};
constexpr MachineLevel kMachineLevels[] = {
    {"aarch64-android", "aarch64-unknown-linux-android28", "generic", ""},
    {"aarch64-ios", "arm64-apple-ios14.0", "generic", ""},
    {"aarch64-linux", "aarch64-unknown-linux-gnu", "generic", ""},
    {"aarch64-linux+sve", "aarch64-unknown-linux-gnu", "generic", "+sve"},
    {"aarch64-linux+sve256", "aarch64-unknown-linux-gnu", "generic", "+sve", 2},
    {"aarch64-macos", "arm64-apple-macosx11.0.0", "generic", ""},
    {"x86_64-macos", "x86_64-apple-macosx11.0.0", "x86-64-v3", ""},
    {"x86_64-windows+v3", "x86_64-w64-windows-gnu", "x86-64-v3", ""},
    {"x86_64-windows+v4", "x86_64-w64-windows-gnu", "x86-64-v4", ""}};

/// Code is made for a level of the x86-64 psABI rather than for one processor: what it needs can be checked
/// at start, and machines of a level get equal programs.
struct Level {
  StringRef cpu;
  SmallVector<StringRef> features;
};
const Level kLevels[] = {
    {"x86-64-v4",
     {"avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi", "bmi2", "fma"}},
    {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "fma"}},
    {"x86-64-v2", {"popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
};

void addConversions(PassManager &passes) {
  passes.enableVerifier(false);
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

/// Modules are lowered side by side in one context, so everything they need is loaded before.
void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  PassManager passes(&context);
  addConversions(passes);
  passes.getDependentDialects(registry);
  context.appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context.getOrLoadDialect(name);
}

LogicalResult toLLVMDialect(ModuleOp module) {
  if (failed(lowerMath(module)))
    return failure();
  PassManager passes(module.getContext());
  addConversions(passes);
  return passes.run(module);
}

bool compileUnit(ModuleOp unit, const KernelTarget &target, int level, llvm::TargetMachine &machine,
                 ObjectFile &object) {
  if (failed(toLLVMDialect(unit)))
    return false;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(unit, context, "kernels");
  if (!module)
    return false;
  codegen::prepareModule(*module, machine);
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", "512");
      if (target.vectorScale)
        function.addFnAttr(
            llvm::Attribute::getWithVScaleRangeArgs(context, target.vectorScale, target.vectorScale));
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  codegen::optimize(*module, machine, level, level >= 2 ? StringRef(kPipeline) : StringRef());
  object = codegen::emitObject(*module, machine);
  return true;
}

/// What the cache does not have.
struct Missing {
  ModuleOp unit;
  ObjectFile &object;
  std::optional<CacheKey> key;
  bool isDone = false;
};

/// Types and attributes of a context are guarded in here, which takes time where one thread works alone.
class Guarded {
public:
  explicit Guarded(MLIRContext &context) : context(context), before(context.isMultithreadingEnabled()) {
    context.enableMultithreading();
  }
  ~Guarded() { context.enableMultithreading(before); }

private:
  MLIRContext &context;
  bool before;
};

/// In operations.
size_t sizeOf(ModuleOp unit) {
  size_t count = 0;
  unit.walk([&](Operation *) { ++count; });
  return count;
}

LogicalResult compileMissing(std::vector<Missing> &missing, const KernelTarget &target, int level) {
  if (missing.empty())
    return success();
  MLIRContext &context = *missing.front().unit.getContext();
  loadDialects(context);
  const Guarded guarded(context);
  // What takes longest begins first, so that no processor is left with it at the end.
  std::vector<std::pair<size_t, Missing *>> bySize;
  for (Missing &each : missing)
    bySize.push_back({sizeOf(each.unit), &each});
  llvm::stable_sort(bySize, [](const auto &a, const auto &b) { return a.first > b.first; });
  llvm::ThreadPoolInterface &pool = context.getThreadPool();
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines(
      std::min<size_t>(pool.getMaxConcurrency(), bySize.size()));
  std::atomic<size_t> next = 0;
  for (std::unique_ptr<llvm::TargetMachine> &machine : machines) {
    machine = codegen::createTargetMachine(target, level);
    pool.async([&] {
      for (size_t at; (at = next++) < bySize.size();) {
        Missing &each = *bySize[at].second;
        each.isDone = compileUnit(each.unit, target, level, *machine, each.object);
      }
    });
  }
  pool.wait();
  return success(llvm::all_of(missing, [](const Missing &each) { return each.isDone; }));
}

} // namespace

std::unique_ptr<llvm::TargetMachine> kedge::lower::codegen::createTargetMachine(const KernelTarget &target,
                                                                                int level) {
  initializeTargets();
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    fail("no code generator for target '{}': {}", target.triple, message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto codegen = level <= 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, codegen));
}

void kedge::lower::codegen::optimize(llvm::Module &module, llvm::TargetMachine &machine, int level,
                                     StringRef pipeline) {
  // The loops are vectors and unrolled already.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  auto chosen = levels[std::clamp(level, 0, 3)];
  llvm::ModulePassManager passes;
  if (level <= 0)
    passes = builder.buildO0DefaultPipeline(chosen);
  else if (pipeline.empty())
    passes = builder.buildPerModuleDefaultPipeline(chosen);
  else
    llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
  passes.run(module, modules);
}

void kedge::lower::codegen::prepareModule(llvm::Module &module, const llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

ObjectFile kedge::lower::codegen::emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  ObjectFile object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    fail("target '{}' writes no object files", machine.getTargetTriple().str());
  passes.run(module);
  return object;
}

KernelTarget KernelTarget::host() {
  initializeTargets();
  KernelTarget target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.name = "native";
  if (!llvm::Triple(target.triple).isX86()) {
    target.cpu = llvm::sys::getHostCPUName().str();
    return target;
  }
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (const Level &level : kLevels)
    if (llvm::all_of(level.features, [&](StringRef name) { return features.lookup(name); })) {
      target.cpu = level.cpu.str();
      for (StringRef name : level.features)
        target.required.push_back(name.str());
      return target;
    }
  target.cpu = "x86-64";
  return target;
}

KernelTarget KernelTarget::level(StringRef name) {
  KernelTarget target;
  target.name = name.str();
  target.required = {target.name};
  for (const MachineLevel &level : kMachineLevels)
    if (level.name == name) {
      target.triple = level.triple.str();
      target.cpu = level.cpu.str();
      target.features = level.features.str();
      target.vectorScale = level.vectorScale;
      return target;
    }
  target.triple = llvm::sys::getDefaultTargetTriple();
  for (const Level &level : kLevels)
    if (level.cpu == name && name != "x86-64-v2")
      target.cpu = name.str();
  if (target.cpu.empty())
    fail("--cpu {}: expected native, aarch64-android, aarch64-ios, aarch64-linux, aarch64-linux+sve, "
         "aarch64-macos, x86_64-macos, x86_64-windows, x86_64-windows+v3, x86_64-windows+v4, x86-64-v3, "
         "x86-64-v4 or several levels, as in x86-64-v3,x86-64-v4",
         name.str());
  if (!llvm::Triple(target.triple).isX86())
    fail("--cpu {}: this compiler makes code for {}; give --cpu native", name.str(), target.triple);
  return target;
}

std::string KernelTarget::otherMachine() const {
  const bool isOther =
      llvm::any_of(kMachineLevels, [&](const MachineLevel &level) { return level.name == name; });
  return isOther ? StringRef(name).split('+').first.str() : "";
}

void kedge::lower::renameKernels(ModuleOp kernels, StringRef prefix, StringRef suffix) {
  for (auto kernel : kernels.getOps<SymbolOpInterface>())
    kernel.setName((prefix + kernel.getName() + suffix).str());
}

FailureOr<ObjectFiles> kedge::lower::compileKernels(ModuleOp kernels, const KernelTarget &target,
                                                    int optLevel, FileCache *cache) {
  shareCode(kernels);
  std::vector<codegen::KernelUnit> units = codegen::splitUnits(kernels);
  ObjectFiles objects(units.size());
  codegen::CodeKeys keys(CacheKey()
                             .add("object")
                             .add(target.triple)
                             .add(target.cpu)
                             .add(target.features)
                             .add(target.vectorScale)
                             .add(optLevel));
  std::vector<Missing> missing;
  std::map<std::string, size_t> firstOf;
  std::vector<std::pair<size_t, size_t>> copies; // of a unit that is compiled, and which
  for (size_t at = 0; at < units.size(); ++at) {
    const auto key = keys.of(units[at].module.get());
    if (auto [first, isNew] = key ? firstOf.try_emplace(key->text(), at) : std::pair(firstOf.end(), true);
        !isNew)
      copies.push_back({at, first->second});
    else if (auto found = cache && key ? cache->find(*key) : std::nullopt)
      objects[at] = std::move(*found);
    else
      missing.push_back({cast<ModuleOp>(units[at].module.get()), objects[at], key});
  }
  if (failed(compileMissing(missing, target, optLevel)))
    return kernels.emitError("kernels could not be lowered to machine code");
  for (auto [copy, first] : copies)
    objects[copy] = objects[first];
  for (const Missing &unit : missing)
    if (cache && unit.key)
      cache->store(*unit.key, {unit.object.data(), unit.object.size()});
  for (auto [unit, object] : llvm::zip_equal(units, objects))
    codegen::nameSymbols(object, unit.symbols);
  return objects;
}
