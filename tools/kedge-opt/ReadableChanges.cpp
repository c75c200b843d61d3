#include "tools/kedge-opt/ReadableChanges.h"
#include "lib/Support/Error.h"
#include "lib/Text/ReadableText.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace kedge::tool {
namespace {
using namespace mlir;

/// The value of a flag that MLIR has registered, which is off from then on.
bool taken(StringRef name) {
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name);
  if (!option)
    fail("this MLIR has no flag --{}", name.str());
  auto &flag = *static_cast<llvm::cl::opt<bool> *>(option);
  const bool value = flag;
  flag = false;
  return value;
}

/// The module, or the function of it that the pass ran on.
std::string textOf(Operation *op) {
  if (auto module = dyn_cast<ModuleOp>(op))
    return text::readableText(module);
  auto module = op->getParentOfType<ModuleOp>();
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  if (!module || !symbol)
    return "";
  return text::readableText(module, symbol.getName());
}

class ReadablePrinter : public PassManager::IRPrinterConfig {
public:
  explicit ReadablePrinter(bool onlyChanges)
      : IRPrinterConfig(/*printModuleScope=*/true, /*printAfterOnlyOnChange=*/onlyChanges) {}

  void printBeforeIfEnabled(Pass *, Operation *, PrintCallbackFn) override {}
  void printAfterIfEnabled(Pass *pass, Operation *op, PrintCallbackFn printAsMlir) override {
    std::string text;
    try {
      text = textOf(op);
    } catch (const Error &) {
      return printAsMlir(llvm::errs()); // what cannot be named is shown all the same
    }
    const StringRef name = pass->getArgument().empty() ? pass->getName() : pass->getArgument();
    llvm::errs() << "// ----- after " << name << '\n' << text << '\n';
  }
};
} // namespace

ReadableChanges ReadableChanges::takenFromFlags() {
  ReadableChanges wanted;
  wanted.onlyChanges = taken("mlir-print-ir-after-change");
  wanted.all = taken("mlir-print-ir-after-all");
  return wanted;
}

void ReadableChanges::addTo(PassManager &passes) const {
  if (!all && !onlyChanges)
    return;
  passes.getContext()->disableMultithreading(); // a function is printed with the module around it
  passes.enableIRPrinting(std::make_unique<ReadablePrinter>(onlyChanges));
}

} // namespace kedge::tool
