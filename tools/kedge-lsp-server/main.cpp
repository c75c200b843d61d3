// kedge-lsp-server: MLIR's language server, which editors start, with Kedge's dialects and those of plugins.
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "passes/Lower/Codegen/KernelDialects.h"
#include "tools/CommandLine.h"
#include "tools/LibraryOptions.h"
#include "tools/kedge-opt/PluginWords.h"

int main(int argc, char **argv) {
  kedge::tool::prepareProcess();
  mlir::DialectRegistry registry;
  try {
    kedge::tool::dialectsOfWords(argc, argv).appendTo(registry);
  } catch (const kedge::Error &error) {
    return kedge::tool::sayError("kedge-lsp-server", error.what());
  }
  kedge::tool::hideLibraryOptions();
  kedge::lower::registerKernelDialects(registry);
  return succeeded(mlir::MlirLspServerMain(argc, argv, registry)) ? 0 : 1;
}
