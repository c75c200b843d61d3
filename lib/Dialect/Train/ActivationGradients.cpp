// Gradients of activations.
#include "PointwiseGradients.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

void kedge::train::addActivationGradients(llvm::StringMap<PointwiseGradient> &table) {}
