#include "driver/program/SharedKernels.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {

/// The text of a kernel under any name.
std::string textOf(Operation *kernel) {
  OwningOpRef<Operation *> copy = kernel->clone();
  llvm::cast<SymbolOpInterface>(copy.get()).setName("kernel");
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

} // namespace

std::map<std::string, std::string> kedge::driver::shareKernels(ModuleOp kernels,
                                                               std::vector<std::string> &names,
                                                               const AmongPrograms &among,
                                                               const KernelLevels &levels) {
  std::map<std::string, std::string> shared;
  std::vector<std::string> own;
  for (const std::string &name : names) {
    Operation *kernel = kernels.lookupSymbol(name);
    const auto uses = kernel ? SymbolTable::getSymbolUses(kernel) : std::nullopt;
    if (!uses || !uses->empty()) { // its text is not all of it
      own.push_back(name);
      continue;
    }
    const auto [known, isNew] = among.known->try_emplace(textOf(kernel), among.prefix + name);
    if (isNew) {
      own.push_back(name);
      continue;
    }
    for (const std::string &suffix : levels.suffixes())
      shared[name + suffix] = known->second + suffix;
    kernel->erase();
  }
  names = std::move(own);
  return shared;
}
