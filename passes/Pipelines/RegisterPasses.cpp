#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace kedge::pipelines {

void registerPasses() {
  mlir::registerTransformsPasses();
  raise::registerImportPasses();
  lower::registerLowerPasses();
  autodiff::registerAutodiffPasses();
  schedule::registerSchedulePasses();
  memory::registerMemoryPasses();
}

} // namespace kedge::pipelines
