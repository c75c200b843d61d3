// kedge-reduce: mlir-reduce with our dialects and passes.
#include "kedge/InitAllDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "passes/Lower/Codegen/KernelDialects.h"
#include "passes/Pipelines/Pipelines.h"
#include "tools/CommandLine.h"

int main(int argc, char **argv) {
  kedge::tool::prepareProcess();
  try {
    kedge::tool::refuseEmptyArguments(argc, argv);
  } catch (const kedge::Error &error) {
    return kedge::tool::sayError("kedge-reduce", error.what());
  }
  mlir::registerReducerPasses();
  kedge::pipelines::registerPasses();
  mlir::DialectRegistry registry;
  kedge::registerDialects(registry);
  kedge::lower::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return failed(mlir::mlirReduceMain(argc, argv, context)) ? 1 : 0;
}
