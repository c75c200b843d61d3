#include "lib/Analysis/Products.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "runtime/calls/LibraryWork.h"

using namespace mlir;

bool kedge::analysis::multiplies(exec::LaunchInterface op) {
  auto launch = dyn_cast<exec::LaunchOp>(*op);
  if (!launch || !launch.getLibrary())
    return false;
  const std::string kernel = launch.getKernel().str();
  return rt::calls::isMatmul(kernel) || rt::calls::isConvolution(kernel) ||
         launch.calls<train::AttentionOp>() || launch.calls<train::AttentionGradOp>();
}
