// The model with its adapters as nodes of their own, for --export-onnx-adapters.
#pragma once
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

/// `model` with y + scale B(A(x)) behind each product or convolution y of a weight that `module` has an
/// adapter for. A and B are initializers without elements: those are the program's states of the same name.
model::Model withAdapterNodes(const model::Model &model, mlir::ModuleOp module);

} // namespace kedge::driver
