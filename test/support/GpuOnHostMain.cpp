// kedge-gpu-on-host KERNELS.mlir OUT.o: the kernels of `kedge compile --target cuda --emit llvm` as an object
// for this processor. As a shared library it makes the driver's stand-in (test/unit/cuda/stubs) run whole
// programs.
#include "lib/Link/Link.h"
#include "lib/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "test/support/GpuOnHost.h"
#include <cstdio>

using namespace mlir;
using namespace kedge;

static ObjectFiles compiled(std::vector<test::HostKernel> kernels) {
  ObjectFiles objects;
  for (test::HostKernel &kernel : kernels) {
    auto made = lower::compileKernels(*kernel.module, lower::KernelTarget::host(), 0);
    if (failed(made))
      fail("kernel {} is not compiled for the host", kernel.name);
    std::move(made->begin(), made->end(), std::back_inserter(objects));
  }
  return objects;
}

static void run(const std::string &from, const std::string &to) {
  MLIRContext context;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(&context));
  auto builder = OpBuilder::atBlockEnd(scratch->getBody());
  context.loadDialect<mlir::gpu::GPUDialect>();
  // Loads what kernels are made of.
  lower::gpu::GpuEmitter(mlir::gpu::GPUModuleOp::create(builder, scratch->getLoc(), "kernels"));
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(from, &context);
  if (!module || module->getOps<mlir::gpu::GPUModuleOp>().empty())
    fail("{}: expected a module with a gpu.module", from);
  link::linkObjects(compiled(test::kernelsOnHost(*module->getOps<mlir::gpu::GPUModuleOp>().begin())), to);
}

int main(int count, char **words) {
  if (count != 3)
    return fprintf(stderr, "usage: kedge-gpu-on-host KERNELS.mlir OUT.o\n"), 1;
  try {
    run(words[1], words[2]);
  } catch (const std::exception &error) {
    return fprintf(stderr, "kedge-gpu-on-host: error: %s\n", error.what()), 1;
  }
  return 0;
}
