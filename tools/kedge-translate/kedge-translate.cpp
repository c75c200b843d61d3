// kedge-translate: ONNX models to level 1, as text.
#include "kedge/Import/GraphImporter.h"
#include "kedge/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

/// "input_ids=8x1024"; nothing after '=' is a scalar.
static void parseShape(const std::string &text, kedge::ImportOptions &options) {
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

int main(int argc, char **argv) {
  CLI::App app("Kedge's importer: prints an ONNX model at level 1");
  std::string path;
  std::vector<std::string> shapes;
  kedge::ImportOptions options;
  bool locations = false;
  app.add_option("--import-onnx", path, "the model")->required();
  app.add_option("--shape", shapes, "INPUT=8x1024, once an input");
  app.add_flag("--keep-unsupported", options.keepUnsupported, "print onnx.unsupported ops instead of failing");
  app.add_flag("--locations", locations, "print where in the model each op came from");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string &shape : shapes)
      parseShape(shape, options);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = kedge::importModel(context, kedge::model::loadModel(path), options);
    module->print(llvm::outs(), mlir::OpPrintingFlags().enableDebugInfo(locations));
  } catch (const kedge::Error &error) {
    llvm::errs() << "kedge: error: " << error.what() << "\n";
    return 1;
  }
}
