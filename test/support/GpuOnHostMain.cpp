// kedge-gpu-on-host KERNELS.mlir OUT.so: the kernels of `kedge compile --target cuda --emit llvm` as a shared
// library for this processor, which makes the driver's stand-in (test/unit/cuda/stubs) run whole programs.
// Libraries and kernels come from the cache of compiled kernels (KEDGE_KERNEL_CACHE) where it has them.
#include "lib/Support/BuildIdentity.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "lib/Support/ToolRun.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/KernelCache.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "test/support/GpuOnHost.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdio>

using namespace mlir;
using namespace kedge;

namespace {

/// Kernels run often: what -O1 takes more than -O0, which the cache spares, is less than what it saves.
constexpr int kOptLevel = 1;

std::string contentOf(const std::string &file) {
  auto bytes = llvm::MemoryBuffer::getFile(file);
  if (!bytes)
    fail("{}: cannot be read: {}", file, bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

ObjectFiles compiled(std::vector<test::HostKernel> kernels, FileCache *cache) {
  ObjectFiles objects;
  for (test::HostKernel &kernel : kernels) {
    auto made = lower::compileKernels(*kernel.module, lower::KernelTarget::host(), kOptLevel, cache);
    if (failed(made))
      fail("kernel {} is not compiled for the host", kernel.name);
    std::move(made->begin(), made->end(), std::back_inserter(objects));
  }
  return objects;
}

/// The bytes of a library of the kernels in the text of a module.
std::string libraryOf(const std::string &text, const std::string &from, FileCache *cache) {
  MLIRContext context;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(&context));
  auto builder = OpBuilder::atBlockEnd(scratch->getBody());
  context.loadDialect<mlir::gpu::GPUDialect>();
  // Loads what kernels are made of.
  lower::gpu::GpuEmitter(mlir::gpu::GPUModuleOp::create(builder, scratch->getLoc(), "kernels"));
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context, from);
  if (!module || module->getOps<mlir::gpu::GPUModuleOp>().empty())
    fail("{}: expected a module with a gpu.module", from);
  const ObjectFiles objects =
      compiled(test::kernelsOnHost(*module->getOps<mlir::gpu::GPUModuleOp>().begin()), cache);
  const TemporaryFolder folder("kedge-gpu-on-host");
  const std::string library = folder.file("kernels.so");
  std::vector<std::string> command = {"c++", "-shared", "-o", library};
  for (const ObjectFile &object : objects) {
    command.push_back(folder.file(fmt::format("{}.o", command.size())));
    writeText(command.back(), {object.data(), object.size()});
  }
  if (const ToolEnding ending = runTool(command, folder); ending.code != 0)
    fail("{}: its kernels are not linked: {}", from, ending.text);
  return contentOf(library);
}

void run(const std::string &from, const std::string &to) {
  lower::KernelCache cache("");
  FileCache *files = buildIdentity().empty() ? nullptr : cache.files();
  const std::string text = contentOf(from);
  const CacheKey key = CacheKey().add("gpu on host").add(buildIdentity()).add(kOptLevel).add(text);
  if (const auto found = files ? files->find(key) : std::nullopt)
    return writeText(to, {found->data(), found->size()});
  const std::string library = libraryOf(text, from, files);
  writeText(to, library);
  if (files)
    files->store(key, library);
}

} // namespace

int main(int count, char **words) {
  if (count != 3)
    return fprintf(stderr, "usage: kedge-gpu-on-host KERNELS.mlir OUT.so\n"), 1;
  catchEndingSignals();
  try {
    run(words[1], words[2]);
  } catch (const std::exception &error) {
    return fprintf(stderr, "kedge-gpu-on-host: error: %s\n", error.what()), 1;
  }
  return 0;
}
