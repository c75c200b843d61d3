// Writes level 1 as an ONNX file, after it was imported and changed.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace kedge::exporter {

/// The bytes of a ModelProto for @model. States become initializers; their elements are read from the files
/// that the states name. Composites that ONNX has no operator for become primitives. Throws kedge::Error if
/// there is no
/// @model, if ops have no ONNX form (all are named), if a weight file cannot be read, or if the result
/// exceeds 2 GB.
std::string onnxModel(mlir::ModuleOp module);

} // namespace kedge::exporter
