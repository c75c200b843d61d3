#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"

namespace kedge::train {

/// Whether cuBLASLt's epilogues take a matrix of this tensor's rows: 16-bit floats, rows of whole 16 bytes.
bool takesEpilogue(mlir::Type tensor);

/// Whether products of these operands are added to accumulators of type `sum` as they are summed.
bool addsTo(mlir::Type operand, mlir::Type sum);

} // namespace kedge::train

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/EpilogueOps.h.inc"
