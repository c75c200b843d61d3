// What arguments and results of functions are outside them: reading and writing #train.binding.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kedge::train {

/// What kedge-assign-precision writes on ops and arguments: the element type to compute in.
constexpr llvm::StringLiteral kPrecision = "train.precision";

/// Null when the argument or result is bound to nothing, or to something of another kind than asked for.
BindingAttr bindingOfArgument(mlir::FunctionOpInterface function, unsigned index);
BindingAttr bindingOfArgument(mlir::FunctionOpInterface function, unsigned index, BindingKind kind);
BindingAttr bindingOfResult(mlir::FunctionOpInterface function, unsigned index);
BindingAttr bindingOfResult(mlir::FunctionOpInterface function, unsigned index, BindingKind kind);

/// The state that a function argument or result is; null when it is none.
mlir::FlatSymbolRefAttr stateOfArgument(mlir::FunctionOpInterface function, unsigned index);
mlir::FlatSymbolRefAttr stateOfResult(mlir::FunctionOpInterface function, unsigned index);

void bindArgument(mlir::FunctionOpInterface function, unsigned index, BindingAttr binding);
void bindResult(mlir::FunctionOpInterface function, unsigned index, BindingAttr binding);

/// Whether a gradient of a parameter may be of this type: the parameter's shape, in the float type that it is read in.
bool isGradientType(mlir::Type gradient, mlir::Type parameter);

/// {train.binding = `binding`}, of an argument or result that is being made.
mlir::DictionaryAttr boundTo(BindingAttr binding);

} // namespace kedge::train
