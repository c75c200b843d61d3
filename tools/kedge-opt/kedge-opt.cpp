// kedge-opt: passes and pipelines on .mlir files, like mlir-opt. --kedge-statistics prints our own counters.
#include "kedge/Dialect/Registration.h"
#include "kedge/Support/Statistics.h"
#include "passes/Lower/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/program/Version.h"
#include "tools/CommandLine.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"

int main(int argc, char **argv) {
  kedge::tool::prepareProcess();
  try {
    kedge::tool::checkOutputArgument(argc, argv, {"-o"});
  } catch (const kedge::Error &error) {
    return kedge::tool::sayError("kedge", error.what());
  }
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    kedge::tool::sayError("kedge", std::string("an op could not be made (above): ") + reason);
    _exit(1);
  });
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << kedge::rt::version() << '\n'; });
  static llvm::cl::opt<bool> statistics("kedge-statistics", llvm::cl::desc("Print the counters of Kedge's passes"));
  mlir::DialectRegistry registry;
  kedge::registerDialects(registry);
  // Kernels that stand beside a schedule.
  registry.insert<mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  kedge::pipelines::registerPasses();
  auto result = mlir::MlirOptMain(argc, argv, "Kedge's optimizer driver\n", registry);
  if (statistics)
    llvm::errs() << kedge::formatStatistics();
  return mlir::asMainReturnCode(result);
}
