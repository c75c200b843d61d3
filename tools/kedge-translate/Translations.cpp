#include "tools/kedge-translate/Translations.h"
#include "kedge/InitAllDialects.h"
#include "lib/Export/Onnx/OnnxGraph.h"
#include "lib/Support/Error.h"
#include "lib/Text/ReadableText.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/KernelDialects.h"

namespace kedge::tool {

void parseShape(const std::string &text, importer::ImportOptions &options) {
  auto [name, sizes] = llvm::StringRef(text).rsplit('=');
  llvm::SmallVector<llvm::StringRef> parts;
  sizes.split(parts, 'x', -1, false);
  std::vector<int64_t> dims;
  for (llvm::StringRef part : parts)
    if (int64_t dim = 0; !part.getAsInteger(10, dim) && dim >= 0)
      dims.push_back(dim);
    else
      fail("--shape {}: '{}' is no size; expected INPUT=8x1024", text, part.str());
  options.shapes[name.str()] = std::move(dims);
}

std::string readIr(const std::string &path) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module)
    fail("{}: no IR that can be read (above)", path);
  return exporter::onnxModel(*module);
}

std::string readModel(const std::string &path, const importer::ImportOptions &options, bool locations) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importer::importModel(context, model::loadModel(path), options);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(locations));
  return text;
}

std::string readAgain(const std::string &path, const std::string &only) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  lower::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    fail("{}: {}", path, file.getError().message());
  return text::readableAgain(std::move(*file), context, only);
}

} // namespace kedge::tool
