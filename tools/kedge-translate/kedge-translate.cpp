// kedge-translate: ONNX models to level 1 as text, and back.
#include "lib/Dialect/Registration.h"
#include "lib/Export/Onnx/OnnxGraph.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "mlir/Parser/Parser.h"
#include "tools/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

/// "input_ids=8x1024"; nothing after '=' is a scalar.
static void parseShape(const std::string &text, kedge::importer::ImportOptions &options) {
  auto [name, sizes] = llvm::StringRef(text).rsplit('=');
  llvm::SmallVector<llvm::StringRef> parts;
  sizes.split(parts, 'x', -1, false);
  std::vector<int64_t> dims;
  for (llvm::StringRef part : parts)
    if (int64_t dim = 0; !part.getAsInteger(10, dim) && dim >= 0)
      dims.push_back(dim);
    else
      kedge::fail("--shape {}: '{}' is no size; expected INPUT=8x1024", text, part.str());
  options.shapes[name.str()] = std::move(dims);
}

static std::string readIr(const std::string &path) {
  mlir::DialectRegistry registry;
  kedge::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module)
    kedge::fail("{}: no IR that can be read (above)", path);
  return kedge::exporter::onnxModel(*module);
}

static std::string readModel(const std::string &path, const kedge::importer::ImportOptions &options,
                             bool locations) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = kedge::importer::importModel(context, kedge::model::loadModel(path), options);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(locations));
  return text;
}

static void write(const std::string &bytes, const std::string &path) {
  if (path != "-")
    return kedge::writeText(path, bytes);
  llvm::outs() << bytes;
}

int main(int argc, char **argv) {
  kedge::tool::prepareProcess();
  CLI::App app("ONNX models as level 1 of the compiler's IR, and back");
  kedge::tool::addVersion(app);
  std::string model, ir, output = "-";
  std::vector<std::string> shapes;
  kedge::importer::ImportOptions options;
  bool locations = false;
  auto *import = app.add_option("--import-onnx", model, "FILE.onnx: print the model at level 1");
  app.add_option("--export-onnx", ir, "FILE.mlir: write level 1 as an ONNX model")->excludes(import);
  app.add_option("-o", output, "where to (default: standard output)");
  app.add_option("--shape", shapes, "INPUT=8x1024, one for each input");
  app.add_flag("--keep-unsupported", options.keepUnsupported,
               "print onnx.unsupported ops instead of failing");
  app.add_flag("--locations", locations, "print where in the model each op came from");
  CLI11_PARSE(app, argc, argv);
  try {
    kedge::tool::checkOutputArgument(argc, argv, {"-o"});
    if (model.empty() == ir.empty())
      kedge::fail("expected --import-onnx FILE.onnx or --export-onnx FILE.mlir");
    for (const std::string &shape : shapes)
      parseShape(shape, options);
    write(ir.empty() ? readModel(model, options, locations) : readIr(ir), output);
    return kedge::tool::withOutput("kedge", 0);
  } catch (const std::exception &error) {
    return kedge::tool::sayError("kedge", error.what());
  }
}
