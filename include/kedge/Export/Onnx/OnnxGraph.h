// Level 1 as an ONNX file: the way back from IR that was imported and changed.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace kedge {

/// The bytes of a ModelProto of @model, its states as initializers (their elements are read from the files that the
/// states name). Composites that ONNX has no operator for become primitives. Throws kedge::Error when there is no
/// @model, when ops have no ONNX form (all are named), a weight file cannot be read, or 2 GB are not enough.
std::string onnxModel(mlir::ModuleOp module);

} // namespace kedge
