#include "tools/kedge-opt/DeclaredDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace {
/// Callbacks come one at a time: the pass manager locks them.
class DialectCheck : public PassInstrumentation {
  void runBeforePass(Pass *, Operation *op) override {
    if (known.empty())
      known = op->getContext()->getLoadedDialects();
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (!op->getParentOp()) { // nothing runs beside a pass on the whole module
      known = op->getContext()->getLoadedDialects();
      return;
    }
    for (Dialect *dialect : op->getContext()->getLoadedDialects())
      if (!llvm::is_contained(known, dialect))
        llvm::report_fatal_error(llvm::Twine("the pass ") + pass->getArgument() + " loads the dialect '" +
                                     dialect->getNamespace() + "', which is not among its dependentDialects",
                                 false);
  }

  std::vector<Dialect *> known;
};
} // namespace

void kedge::tool::checkDeclaredDialects(PassManager &passes) {
  passes.addInstrumentation(std::make_unique<DialectCheck>());
}
