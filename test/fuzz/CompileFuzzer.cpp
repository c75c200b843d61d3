// Any bytes, read as an ONNX model, linted, repaired, imported and folded: level 1, or one error.
#include "kedge/InitAllDialects.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Support/Error.h"
#include "mlir/IR/Verifier.h"
#include <cstdlib>

using namespace kedge;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  context.loadAllAvailableDialects();
  try {
    model::Model model =
        model::parseModel({data, data + size}, "/nowhere/fuzz.onnx", {.requireExternalData = false});
    lint::LintOptions options;
    options.repair = lint::Repair::All;
    options.mode = lint::Mode::Training;
    options.loss = LossFunction::None;
    lint::Report report = lint::prepare(model, options, importer::lintOperators(context));
    importer::ImportOptions importing;
    importing.roles = importer::rolesOf(report);
    mlir::OwningOpRef<mlir::ModuleOp> module = importer::importModel(context, model, importing);
    if (failed(mlir::verify(*module)))
      std::abort();
  } catch (const Error &) {
  }
  return 0;
}
