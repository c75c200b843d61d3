// kedge-translate: ONNX models to level 1 as text, and back; IR as people read it.
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "runtime/program/ParseErrors.h"
#include "tools/CommandLine.h"
#include "tools/Mains.h"
#include "tools/kedge-translate/Translations.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace kedge::tool;

static void write(const std::string &bytes, const std::string &path) {
  if (path != "-")
    return kedge::writeText(path, bytes);
  llvm::outs() << bytes;
}

int kedge::tool::translateMain(int argc, char **argv) {
  kedge::tool::prepareProcess();
  CLI::App app("ONNX models as level 1 of the compiler's IR, and back");
  kedge::tool::addVersion(app);
  std::string model, ir, shown, only, output = "-";
  std::vector<std::string> shapes;
  kedge::importer::ImportOptions options;
  bool locations = false;
  auto *import = app.add_option("--import-onnx", model, "FILE.onnx: print the model at level 1");
  app.add_option("--export-onnx", ir, "FILE.mlir: write level 1 as an ONNX model")->excludes(import);
  auto *print =
      app.add_option("--print-ir", shown,
                     "FILE.mlir: print IR of any level for people: functions first, values by their "
                     "names in the model, places as comments");
  print->excludes(import);
  app.add_option("--only", only, "with --print-ir: one function (step) or one module of the model (h.0.attn)")
      ->needs(print);
  app.add_option("-o", output, "where to (default: standard output)");
  app.add_option("--shape", shapes, "INPUT=8x1024, one for each input");
  app.add_flag("--keep-unsupported", options.keepUnsupported,
               "print onnx.unsupported ops instead of failing");
  app.add_flag("--locations", locations, "print where in the model each op came from");
  try {
    kedge::rt::refuseEmptyValues(app, {argv + 1, argv + argc});
  } catch (const std::exception &error) {
    return kedge::tool::sayError("kedge", error.what());
  }
  CLI11_PARSE(app, argc, argv);
  try {
    kedge::tool::checkOutputArgument(argc, argv, {"-o"});
    if (!shown.empty() && ir.empty()) {
      write(readAgain(shown, only), output);
      return kedge::tool::withOutput("kedge", 0);
    }
    if (model.empty() == ir.empty() || !shown.empty())
      kedge::fail(
          "expected one of --import-onnx FILE.onnx, --export-onnx FILE.mlir and --print-ir FILE.mlir");
    for (const std::string &shape : shapes)
      parseShape(shape, options);
    write(ir.empty() ? readModel(model, options, locations) : readIr(ir), output);
    return kedge::tool::withOutput("kedge", 0);
  } catch (const std::exception &error) {
    return kedge::tool::sayError("kedge", error.what());
  }
}
