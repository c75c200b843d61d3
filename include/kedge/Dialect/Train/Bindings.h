// #train.binding: what an argument or result of a function stands for outside of it. Reading and writing it.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kedge::train {

/// The element type to compute in, which kedge-assign-precision notes on ops and arguments.
constexpr llvm::StringLiteral kPrecision = "train.precision";

/// Null if the argument or result is not bound, or is bound to something of another kind.
BindingAttr bindingOfArgument(mlir::FunctionOpInterface function, unsigned index);
BindingAttr bindingOfArgument(mlir::FunctionOpInterface function, unsigned index, BindingKind kind);
BindingAttr bindingOfResult(mlir::FunctionOpInterface function, unsigned index);
BindingAttr bindingOfResult(mlir::FunctionOpInterface function, unsigned index, BindingKind kind);

/// The state that an argument or result is bound to; null if there is none.
mlir::FlatSymbolRefAttr stateOfArgument(mlir::FunctionOpInterface function, unsigned index);
mlir::FlatSymbolRefAttr stateOfResult(mlir::FunctionOpInterface function, unsigned index);

void bindArgument(mlir::FunctionOpInterface function, unsigned index, BindingAttr binding);
void bindResult(mlir::FunctionOpInterface function, unsigned index, BindingAttr binding);

/// Whether a gradient of `parameter` may have this type: the parameter's shape, in the float type that it is
/// read in.
bool isGradientType(mlir::Type gradient, mlir::Type parameter);

/// {train.binding = `binding`}, for an argument or result that is being created.
mlir::DictionaryAttr boundTo(BindingAttr binding);

} // namespace kedge::train
