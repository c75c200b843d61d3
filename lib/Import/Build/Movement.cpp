// Shapes, permutations, slices, joins and splits, from any opset to the canonical ops.
#include "MovementUtils.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Import/NodeImporter.h"

using namespace mlir;
using namespace kedge;

void kedge::registerMovementImporters(NodeImporters &) {}
