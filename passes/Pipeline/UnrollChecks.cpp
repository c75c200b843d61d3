#include "passes/Pipeline/UnrollChecks.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"

using namespace mlir;

namespace kedge::pipeline {
using train::BindingKind;

LogicalResult checkRows(func::FuncOp function, StringRef where) {
  int64_t rows = 0;
  for (BlockArgument argument : function.getArguments()) {
    auto input = train::bindingOfArgument(function, argument.getArgNumber(), BindingKind::Input);
    if (!input)
      continue;
    if (rankOf(argument) == 0 || (rows && shapeOf(argument).front() != rows))
      return function.emitError()
             << "input '" << input.getName() << "' of type " << argument.getType()
             << " has not the rows of the first input: such inputs are not available yet " << where;
    rows = shapeOf(argument).front();
  }
  return success();
}

LogicalResult checkResults(func::FuncOp function, StringRef where) {
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto result = train::bindingOfResult(function, index);
    if (result && !result.is(BindingKind::State) && !result.is(BindingKind::Result))
      return function.emitError() << "result '" << result.getName() << "' is not available yet " << where;
  }
  return success();
}

} // namespace kedge::pipeline
