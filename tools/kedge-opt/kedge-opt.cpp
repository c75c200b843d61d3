// kedge-opt: passes and pipelines on .mlir files, like mlir-opt.
#include "kedge/Dialect/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Schedule/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kedge::registerDialects(registry);
  kedge::raise::registerImportPasses();
  kedge::schedule::registerSchedulePasses();
  kedge::lower::registerLowerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Kedge's optimizer driver\n", registry));
}
