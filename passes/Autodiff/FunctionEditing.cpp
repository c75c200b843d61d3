#include "passes/Autodiff/FunctionEditing.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Support/Assert.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kedge::autodiff {
using train::BindingKind;

namespace {
void updateType(func::FuncOp function) {
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getBody().front().getArgumentTypes(),
                                             returnOf(function)->getOperandTypes()));
}
} // namespace

Operation *returnOf(func::FuncOp function) { return function.getBody().front().getTerminator(); }

Value argumentFor(func::FuncOp function, BindingKind kind, StringRef name, Type type) {
  const auto binding = train::BindingAttr::get(function.getContext(), kind, name);
  const NamedAttribute wanted = *train::boundTo(binding).begin();
  if (ArrayAttr all = function.getAllArgAttrs()) // asked for once: parameters are many
    for (auto [index, own] : llvm::enumerate(all.getAsRange<DictionaryAttr>()))
      if (own.get(wanted.getName()) == wanted.getValue())
        return function.getArgument(static_cast<unsigned>(index));
  const unsigned index = function.getNumArguments();
  auto inserted = function.insertArgument(index, type, train::boundTo(binding), function.getLoc());
  KEDGE_ASSERT(succeeded(inserted));
  return function.getArgument(index);
}

BoundFunction::BoundFunction(func::FuncOp function) : function(function) {
  for (BlockArgument argument : function.getArguments())
    if (auto binding = train::bindingOfArgument(function, argument.getArgNumber()))
      bound[binding] = argument;
}

Value BoundFunction::argument(BindingKind kind, StringRef name, Type type) {
  const auto binding = train::BindingAttr::get(function.getContext(), kind, name);
  Value &value = bound[binding];
  if (!value) {
    value = function.getBody().front().addArgument(type, function.getLoc());
    newArguments.push_back(train::boundTo(binding));
  }
  return value;
}

void BoundFunction::addResult(Value value, BindingKind kind, StringRef name) {
  values.push_back(value);
  newResults.push_back(train::boundTo(train::BindingAttr::get(function.getContext(), kind, name)));
}

BoundFunction::~BoundFunction() {
  SmallVector<DictionaryAttr> arguments, results;
  function.getAllArgAttrs(arguments);
  function.getAllResultAttrs(results);
  arguments.append(newArguments);
  results.append(newResults);
  Operation *terminator = returnOf(function);
  terminator->insertOperands(terminator->getNumOperands(), values);
  updateType(function);
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

void addResult(func::FuncOp function, Value value, train::BindingAttr binding) {
  Operation *terminator = returnOf(function);
  unsigned index = terminator->getNumOperands();
  auto inserted = function.insertResult(index, value.getType(), train::boundTo(binding));
  KEDGE_ASSERT(succeeded(inserted));
  terminator->insertOperands(index, value);
}

void addResult(func::FuncOp function, Value value, BindingKind kind, StringRef name) {
  addResult(function, value, train::BindingAttr::get(function.getContext(), kind, name));
}

Value findResult(func::FuncOp function, BindingKind kind, StringRef name) {
  for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
    if (auto binding = train::bindingOfResult(function, index); binding && binding.is(kind, name))
      return value;
  return {};
}

void eraseResults(func::FuncOp function, llvm::function_ref<bool(unsigned)> unwanted) {
  llvm::BitVector dead(function.getNumResults());
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    dead[index] = unwanted(index);
  returnOf(function)->eraseOperands(dead);
  auto erased = function.eraseResults(dead);
  KEDGE_ASSERT(succeeded(erased));
}

void eraseResults(func::FuncOp function, BindingKind kind) {
  eraseResults(function, [&](unsigned index) { return bool(train::bindingOfResult(function, index, kind)); });
}

void eraseUnused(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector dead(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    dead[argument.getArgNumber()] = argument.use_empty();
  auto erased = function.eraseArguments(dead);
  KEDGE_ASSERT(succeeded(erased));
  updateType(function);
}

Value withoutWidening(Value value) {
  auto cast = value.getDefiningOp<onnx::CastOp>();
  bool widens =
      cast && elementOf(value).isF32() && (elementOf(cast.getX()).isBF16() || elementOf(cast.getX()).isF16());
  return widens ? cast.getX() : value;
}

SmallVector<Trained> takeGradients(func::FuncOp function) {
  const SymbolTable states(function->getParentOfType<ModuleOp>());
  SmallVector<Trained> trained;
  for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
    if (auto gradient = train::bindingOfResult(function, index, BindingKind::Gradient))
      trained.push_back({states.lookup<train::StateOp>(gradient.getSymbol().getAttr()), value});
  eraseResults(function, BindingKind::Gradient);
  return trained;
}

train::StateOp makeStateOf(train::StateOp parameter, train::Role role, StringRef suffix) {
  OpBuilder builder(parameter);
  builder.setInsertionPointAfter(parameter);
  return train::StateOp::create(
      builder, parameter.getLoc(), builder.getStringAttr(parameter.getSymName() + "." + suffix),
      train::RoleAttr::get(parameter.getContext(), role), parameter.getTypeAttr(), builder.getUnitAttr(),
      StringAttr(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()), builder.getBoolAttr(true),
      builder.getF64FloatAttr(1.0), parameter.getShardingAttr());
}

} // namespace kedge::autodiff
