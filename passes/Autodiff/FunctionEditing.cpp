#include "FunctionEditing.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kedge::autodiff {
namespace {
void updateType(func::FuncOp function) {
  function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().front().getArgumentTypes(),
                                             returnOf(function)->getOperandTypes()));
}

Value addArgument(func::FuncOp function, StringRef key, Attribute attribute, Type type) {
  unsigned index = function.getNumArguments();
  NamedAttribute named(StringAttr::get(function.getContext(), key), attribute);
  auto inserted = function.insertArgument(index, type, DictionaryAttr::get(function.getContext(), named), function.getLoc());
  assert(succeeded(inserted));
  (void)inserted;
  return function.getArgument(index);
}
} // namespace

Operation *returnOf(func::FuncOp function) { return function.getBody().front().getTerminator(); }

BlockArgument findArgument(func::FuncOp function, StringRef key, StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    auto attribute = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), key);
    if (attribute && attribute.getValue() == name)
      return argument;
  }
  return {};
}

Value argumentFor(func::FuncOp function, StringRef key, StringRef name, Type type) {
  if (BlockArgument found = findArgument(function, key, name))
    return found;
  return addArgument(function, key, StringAttr::get(function.getContext(), name), type);
}

Value stateArgument(func::FuncOp function, StringRef name, Type type) {
  auto symbol = FlatSymbolRefAttr::get(function.getContext(), name);
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), "train.state") == symbol)
      return argument;
  return addArgument(function, "train.state", symbol, type);
}

void addResult(func::FuncOp function, Value value, StringRef key, Attribute attribute) {
  Operation *terminator = returnOf(function);
  unsigned index = terminator->getNumOperands();
  NamedAttribute named(StringAttr::get(function.getContext(), key), attribute);
  auto inserted = function.insertResult(index, value.getType(), DictionaryAttr::get(function.getContext(), named));
  assert(succeeded(inserted));
  (void)inserted;
  terminator->insertOperands(index, value);
}

Value findResult(func::FuncOp function, StringRef key, StringRef name) {
  for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands())) {
    auto attribute = function.getResultAttrOfType<StringAttr>(index, key);
    if (attribute && attribute.getValue() == name)
      return value;
  }
  return {};
}

void eraseResults(func::FuncOp function, llvm::function_ref<bool(unsigned)> unwanted) {
  llvm::BitVector dead(function.getNumResults());
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    dead[index] = unwanted(index);
  returnOf(function)->eraseOperands(dead);
  auto erased = function.eraseResults(dead);
  assert(succeeded(erased));
  (void)erased;
}

void eraseUnused(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector dead(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    dead[argument.getArgNumber()] = argument.use_empty();
  auto erased = function.eraseArguments(dead);
  assert(succeeded(erased));
  (void)erased;
  updateType(function);
}

} // namespace kedge::autodiff
