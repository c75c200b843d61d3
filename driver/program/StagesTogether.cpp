#include "driver/program/StagesTogether.h"
#include "driver/Compilation.h"
#include "driver/Plugins.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "lib/Support/Error.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Partition/Passes.h"

using namespace mlir;

namespace kedge::driver {

/// The stage's program as its ranks run it: the schedule, named by the ranks.
std::string Compilation::textOfRanks() {
  const rt::Mesh mesh = options.model.meshOfRanks();
  std::vector<int64_t> ranks;
  const int64_t each = mesh.size() / mesh.sizeOf(rt::Mesh::kPipeline);
  for (int64_t rank = options.pipeline.stage * each; rank < (options.pipeline.stage + 1) * each; ++rank)
    ranks.push_back(rank);
  OwningOpRef<ModuleOp> copy = ir->clone();
  (*copy)->setAttr(dist::ranksName, DenseI64ArrayAttr::get(&context, ranks));
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream);
  return text;
}

void checkTogether(const std::vector<std::string> &programs, const ModelOptions &model) {
  if (programs.empty())
    return;
  MLIRContext context(dialectsWith(model.plugins), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string found;
  ScopedDiagnosticHandler handler(&context,
                                  [&](Diagnostic &diagnostic) { found += diagnostic.str() + "; "; });
  OwningOpRef<ModuleOp> all = ModuleOp::create(UnknownLoc::get(&context));
  for (const std::string &text : programs) {
    OwningOpRef<ModuleOp> one = parseSourceString<ModuleOp>(text, &context);
    if (!one) // nothing is proven of a stage that is left out
      fail("{}: a stage's program cannot be read again, so that the stages cannot be checked together: {}",
           model.model, found);
    all->push_back(one.release());
  }
  PassManager manager(&context);
  manager.addPass(partition::createCheckCollectives());
  if (failed(manager.run(*all)))
    fail("{}: the stages' programs do not fit each other: {}", model.model, found);
}

} // namespace kedge::driver
