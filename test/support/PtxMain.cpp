// kedge-ptx-findings KERNELS.ptx PROGRAM.exec [--blocks N] [--seed N]: the kernels of a program, as
// `kedge compile --emit ptx` and `--emit exec` give them, in the interpreter of PTX: every launch, with the
// operands that the plan gives it, on random numbers. Prints what it finds; exit code 2 where that is
// anything.
#include "kedge/InitAllDialects.h"
#include "lib/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "test/support/PtxPlan.h"
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace mlir;
using namespace kedge;

namespace {

std::string contentsOf(const char *path) {
  std::ifstream file(path);
  if (!file)
    fail("{}: cannot be read, expected what --emit ptx gives", path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int run(int count, char **words) {
  test::PtxPlan::Options options;
  for (int at = 3; at + 1 < count; at += 2)
    (StringRef(words[at]) == "--seed" ? options.seed : options.mostBlocks) = std::atoll(words[at + 1]);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.loadDialect<mlir::gpu::GPUDialect>();
  // Loads what kernels are made of: the module holds them, too.
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(&context));
  auto builder = OpBuilder::atBlockEnd(scratch->getBody());
  lower::gpu::GpuEmitter(mlir::gpu::GPUModuleOp::create(builder, scratch->getLoc(), "kernels"));
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(words[2], &context);
  if (!module)
    fail("{}: is not parsed, expected what --emit exec gives", words[2]);
  test::PtxProgram program(contentsOf(words[1]));
  test::PtxPlan plan(program, options);
  plan.run(*module);
  const std::vector<std::string> findings = plan.findings();
  printf("%s: %s, %zu findings\n", words[1], plan.summary().c_str(), findings.size());
  for (const std::string &finding : findings)
    printf("  %s\n", finding.c_str());
  return findings.empty() ? 0 : 2;
}

} // namespace

int main(int count, char **words) {
  if (count < 3)
    return fprintf(stderr, "usage: kedge-ptx-findings KERNELS.ptx PROGRAM.exec [--blocks N] [--seed N]\n"), 1;
  try {
    return run(count, words);
  } catch (const std::exception &error) {
    return fprintf(stderr, "kedge-ptx-findings: error: %s\n", error.what()), 1;
  }
}
