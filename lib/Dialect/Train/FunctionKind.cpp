#include "kedge/Dialect/Train/FunctionKind.h"

using namespace mlir;

namespace kedge::train {
namespace {} // namespace

std::optional<FunctionKind> kindOf(FunctionOpInterface function) {
  auto kind = function->getAttrOfType<FunctionKindAttr>(kKind);
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}

void setKind(func::FuncOp function, FunctionKind kind) {
  function->setAttr(kKind, FunctionKindAttr::get(function.getContext(), kind));
  function.setName(stringifyFunctionKind(kind));
}

func::FuncOp functionOf(ModuleOp module, FunctionKind kind) {
  for (auto function : module.getOps<func::FuncOp>())
    if (kindOf(function) == kind)
      return function;
  return {};
}

int64_t runsInStep(FunctionKind kind, int64_t accumulate) {
  switch (kind) {
  case FunctionKind::Step:
  case FunctionKind::Update:
    return 1;
  case FunctionKind::Micro:
    return accumulate;
  case FunctionKind::Model:
  case FunctionKind::Init:
  case FunctionKind::Eval:
  case FunctionKind::Predict:
  case FunctionKind::Restore:
    return 0;
  }
  return 0;
}

LogicalResult verifyKind(Operation *op, Attribute value) {
  auto kind = dyn_cast<FunctionKindAttr>(value);
  if (!kind)
    return op->emitOpError() << "has '" << kKind << "' = " << value << ", expected a #train.kind";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "has '" << kKind << "', but is no function";
  if (function.getName() != stringifyFunctionKind(kind.getValue()))
    return op->emitOpError() << "is of kind '" << stringifyFunctionKind(kind.getValue()) << "' and called '"
                             << function.getName() << "': programs know the kind by the name";
  return success();
}

} // namespace kedge::train
