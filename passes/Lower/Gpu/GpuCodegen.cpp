// Kernels -> NVVM -> PTX.
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/Lower/Codegen/CodegenInternal.h"
#include "passes/Lower/Codegen/KernelUnits.h"
#include "passes/Lower/Gpu/DeviceConversions.h"
#include "passes/Lower/Gpu/GpuCode.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/GpuMath.h"
#include "passes/Lower/Gpu/Ptxas.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// 90 of sm_90a.
int numberOf(StringRef arch) {
  int number = 0;
  arch.drop_front(3).take_while(llvm::isDigit).getAsInteger(10, number);
  return number;
}

/// The oldest PTX that knows the architecture and kernels of more than 4 KiB of parameters (8.1): the norm of
/// all gradients reads a number for each. Drivers read what is not newer than they are.
StringRef ptxVersionOf(StringRef arch) {
  const int number = numberOf(arch);
  if (arch == "sm_90a")
    return "+ptx83"; // knows the fence for tensor maps
  return number > 101 ? "+ptx88" : number >= 100 ? "+ptx86" : "+ptx81";
}

/// Upstream's patterns without those for libdevice, whose functions would not be linked.
LogicalResult convertGpu(mlir::gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  options.overrideIndexBitwidth(32);
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(context);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addIllegalDialect<mlir::gpu::GPUDialect, cf::ControlFlowDialect>();
  target.addLegalOp<mlir::gpu::GPUModuleOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

LogicalResult toNvvm(mlir::gpu::GPUModuleOp module, StringRef arch) {
  if (failed(kedge::lower::gpu::lowerMath(module)))
    return failure();
  lowerConversions(module, {/*brain=*/true, /*float8=*/numberOf(arch) >= 89});
  PassManager passes(module.getContext(), mlir::gpu::GPUModuleOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  ArithToLLVMConversionPassOptions arith;
  arith.indexBitwidth = 32;
  passes.addPass(createArithToLLVMConversionPass(arith));
  PassManager cleanup(module.getContext(), mlir::gpu::GPUModuleOp::getOperationName());
  cleanup.addPass(createReconcileUnrealizedCastsPass());
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  passes.getDependentDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    module.getContext()->getOrLoadDialect(name);
  return success(succeeded(passes.run(module)) && succeeded(convertGpu(module)) &&
                 succeeded(cleanup.run(module)));
}

std::unique_ptr<llvm::TargetMachine> createMachine(StringRef arch, int level, std::string *error) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, *error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto codegen = level <= 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, arch, ptxVersionOf(arch), options, llvm::Reloc::PIC_, std::nullopt, codegen));
}

std::string ptxOf(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile);
  passes.run(module);
  return text.str().str();
}

/// One that LLVM knows; a number without meaning would only make it warn. Kernels use what sm_80 has.
bool isArchitecture(StringRef arch) {
  int number = 0;
  StringRef digits = arch.starts_with("sm_") ? arch.drop_front(3).take_while(llvm::isDigit) : "";
  if (digits.getAsInteger(10, number) || number < 80)
    return false;
  initializeTarget();
  std::string ignored;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, ignored);
  if (!target)
    return true; // the error that follows says so
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  return known && known->isCPUStringValid(arch);
}

FailureOr<std::string> translateToPtx(mlir::gpu::GPUModuleOp module, StringRef arch, int optLevel,
                                      std::string *error) {
  if (failed(toNvvm(module, arch))) {
    *error = "GPU kernels could not be lowered (above)";
    return failure();
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "kernels");
  auto machine = createMachine(arch, optLevel, error);
  if (!code || !machine) {
    if (error->empty())
      *error = "GPU kernels could not be translated to LLVM (above)";
    return failure();
  }
  codegen::prepareModule(*code, *machine);
  codegen::optimize(*code, *machine, optLevel);
  std::string ptx = ptxOf(*code, *machine);
  if (size_t at = ptx.find(".extern .func"); at != std::string::npos) {
    *error = "a GPU kernel calls a function that does not exist on the device: " +
             StringRef(ptx).drop_front(at).take_until([](char c) { return c == ';'; }).str();
    return failure();
  }
  return ptx;
}

/// What the cache has, or else what is made and then kept.
FailureOr<std::string> cached(FileCache *cache, const std::optional<CacheKey> &key,
                              llvm::function_ref<FailureOr<std::string>()> make) {
  if (auto found = key ? cache->find(*key) : std::nullopt)
    return std::string(found->begin(), found->end());
  FailureOr<std::string> made = make();
  if (succeeded(made) && key)
    cache->store(*key, *made);
  return made;
}

/// A PTX module begins with its version, target and size of addresses, once.
StringRef withoutHeader(StringRef ptx) { return ptx.split("\n.address_size 64\n").second; }

} // namespace

FailureOr<std::string> kedge::lower::gpu::compileToPtx(mlir::gpu::GPUModuleOp module, StringRef arch,
                                                       int optLevel, std::string *error, FileCache *cache) {
  if (!isArchitecture(arch)) {
    *error = "architecture '" + arch.str() + "': expected one like sm_80, sm_89, sm_90 or sm_100";
    return failure();
  }
  codegen::CodeKeys keys(CacheKey().add("ptx").add(arch).add(optLevel));
  const std::vector<codegen::KernelUnit> units = codegen::splitUnits(module);
  if (units.empty()) // PTX without a kernel is a module, too
    return translateToPtx(module, arch, optLevel, error);
  std::string all;
  for (const codegen::KernelUnit &unit : units) {
    const auto key = cache ? keys.of(unit.module.get()) : std::nullopt;
    auto ptx = cached(cache, key, [&] {
      return translateToPtx(cast<mlir::gpu::GPUModuleOp>(unit.module.get()), arch, optLevel, error);
    });
    if (failed(ptx))
      return failure();
    const std::string named = codegen::withNames(*ptx, unit.symbols);
    all += all.empty() ? named : withoutHeader(named).str();
  }
  return all;
}

FailureOr<GpuCode> kedge::lower::gpu::compileGpu(mlir::gpu::GPUModuleOp module, StringRef arch, int optLevel,
                                                 std::string *error, FileCache *cache) {
  FailureOr<std::string> ptx = compileToPtx(module, arch, optLevel, error, cache);
  if (failed(ptx))
    return failure();
  GpuCode result;
  result.ptx = std::move(*ptx);
  if (failed(assemble(result, arch, optLevel, error, cache)))
    return failure();
  return result;
}
