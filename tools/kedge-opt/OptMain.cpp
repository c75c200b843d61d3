// kedge-opt: passes and pipelines on .mlir files, like mlir-opt. --kedge-statistics prints our own counters.
#include "kedge/Passes.h"
#include "lib/Support/Statistics.h"
#include "lib/Text/ReadableText.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Lower/Codegen/KernelDialects.h"
#include "runtime/program/Version.h"
#include "tools/CommandLine.h"
#include "tools/LibraryOptions.h"
#include "tools/Mains.h"
#include "tools/kedge-opt/DeclaredDialects.h"
#include "tools/kedge-opt/PluginWords.h"
#include "tools/kedge-opt/ReadableChanges.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace {
/// Made when the tool starts: the library that holds it adds no option to its other users.
llvm::cl::opt<bool> &readable() {
  static llvm::cl::opt<bool> option("kedge-readable",
                                    llvm::cl::desc("Print the result for people: functions first, values by "
                                                   "their names in the model, places as comments"));
  return option;
}

/// As mlir-opt does it, with a check of what passes declare.
llvm::LogicalResult optimize(int argc, char **argv, mlir::DialectRegistry &registry) {
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "Kedge's optimizer driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::MlirOptMain(argc, argv, input, output, registry);
  mlir::MlirOptMainConfig checked = config;
  const auto changes =
      readable() ? kedge::tool::ReadableChanges::takenFromFlags() : kedge::tool::ReadableChanges();
  checked.setPassPipelineSetupFn([config, changes](mlir::PassManager &passes) {
    kedge::tool::checkDeclaredDialects(passes);
    changes.addTo(passes);
    return config.setupPassPipeline(passes);
  });
  std::string message;
  auto source = mlir::openInputFile(input, &message);
  auto written = source ? mlir::openOutputFile(output, &message) : nullptr;
  if (!written) {
    llvm::errs() << message << '\n';
    return llvm::failure();
  }
  std::string text;
  llvm::raw_string_ostream inMemory(text);
  llvm::raw_ostream &os = readable() ? static_cast<llvm::raw_ostream &>(inMemory) : written->os();
  if (failed(mlir::MlirOptMain(os, std::move(source), registry, checked)))
    return llvm::failure();
  if (readable())
    written->os() << kedge::text::readableModules(text, registry);
  written->os().flush(); // statistics follow
  written->keep();
  return llvm::success();
}
} // namespace

int kedge::tool::optMain(int argc, char **argv) {
  kedge::tool::prepareProcess();
  mlir::DialectRegistry registry;
  try {
    kedge::tool::refuseEmptyArguments(argc, argv);
    kedge::tool::checkOutputArgument(argc, argv, {"-o"});
    kedge::tool::dialectsOfWords(argc, argv).appendTo(registry);
  } catch (const kedge::Error &error) {
    return kedge::tool::sayError("kedge", error.what());
  }
  kedge::tool::hideLibraryOptions();
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    if (kedge::tool::isLostReader(reason))
      _exit(0);
    kedge::tool::sayError("kedge", std::string("an op could not be made (above): ") + reason);
    _exit(1);
  });
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << kedge::rt::version() << '\n'; });
  static llvm::cl::opt<bool> statistics("kedge-statistics",
                                        llvm::cl::desc("Print the counters of Kedge's passes"));
  readable();
  kedge::lower::registerKernelDialects(registry);
  kedge::registerAllPasses();
  auto result = optimize(argc, argv, registry);
  if (statistics)
    llvm::errs() << kedge::formatStatistics();
  return mlir::asMainReturnCode(result);
}
