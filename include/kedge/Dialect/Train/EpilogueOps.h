#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"

namespace kedge::train {

/// Whether cuBLASLt's epilogues take a matrix of this tensor's rows: 16-bit floats, rows of whole 16 bytes.
bool takesEpilogue(mlir::Type tensor);

} // namespace kedge::train

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/EpilogueOps.h.inc"
