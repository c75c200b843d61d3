// Bodies of the reductions.
#include "ElementwiseUtils.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

KEDGE_UNARY_BODY(ReduceSumOp, body.sum(x))
