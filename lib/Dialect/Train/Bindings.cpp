#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"

using namespace mlir;

namespace kedge::train {
namespace {
constexpr llvm::StringLiteral kBinding = "train.binding";

BindingAttr ofKind(BindingAttr binding, BindingKind kind) {
  return binding && binding.is(kind) ? binding : BindingAttr();
}

FlatSymbolRefAttr stateOf(BindingAttr binding) {
  return binding && binding.is(BindingKind::State) ? binding.getSymbol() : FlatSymbolRefAttr();
}

/// Symbols of all bindings of one function against the states of its module, in one walk over these.
class SymbolCheck {
public:
  explicit SymbolCheck(FunctionOpInterface function) : function(function) {
    Operation *table = function->getParentOp();
    if (!table || table->getNumRegions() != 1 || table->getRegion(0).empty())
      return;
    known = true;
    for (auto state : table->getRegion(0).front().getOps<StateOp>())
      states[state.getSymNameAttr()] = state;
  }

  LogicalResult run() {
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (BindingAttr binding = bindingOfArgument(function, index))
        if (failed(once(arguments, binding, "argument", index)) ||
            failed(check(binding, type, "argument", index)))
          return failure();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (BindingAttr binding = bindingOfResult(function, index)) {
        bool isPlace = binding.is(BindingKind::State) || binding.is(BindingKind::Result);
        if ((isPlace && failed(once(results, binding, "result", index))) ||
            failed(check(binding, type, "result", index)))
          return failure();
      }
    return success();
  }

private:
  LogicalResult once(DenseMap<Attribute, unsigned> &seen, BindingAttr binding, StringRef what,
                     unsigned index) {
    auto [first, isNew] = seen.try_emplace(binding, index);
    if (isNew)
      return success();
    return function->emitOpError() << what << " " << index << " is bound to " << binding << ", as " << what
                                   << " " << first->second << " is";
  }

  LogicalResult check(BindingAttr binding, Type type, StringRef what, unsigned index) {
    if (!known || !BindingAttr::namesState(binding.getKind()))
      return success();
    StateOp state = states.lookup(binding.getSymbol().getAttr());
    if (!state)
      return function->emitOpError() << what << " " << index << " is bound to " << binding.getSymbol()
                                     << ", which is no train.state of the module";
    if (!isa<RankedTensorType>(state.getType()))
      return success(); // the state says so itself
    if (binding.is(BindingKind::Gradient) ? isGradientType(type, state.boxType()) : state.getType() == type)
      return success();
    InFlightDiagnostic error = function->emitOpError() << what << " " << index << " is bound to "
                                                       << binding.getSymbol() << " and of type " << type;
    error.attachNote(state.getLoc()) << "the state is of type " << state.getType();
    return error;
  }

  FunctionOpInterface function;
  bool known = false; ///< whether the function stands in a module whose states can be seen
  DenseMap<StringAttr, StateOp> states;
  DenseMap<Attribute, unsigned> arguments, results;
};

std::optional<unsigned> firstBoundArgument(FunctionOpInterface function) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (bindingOfArgument(function, index))
      return index;
  return std::nullopt;
}

std::optional<unsigned> firstBoundResult(FunctionOpInterface function) {
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (bindingOfResult(function, index))
      return index;
  return std::nullopt;
}

LogicalResult verifyForm(Operation *op, NamedAttribute attribute, StringRef what, unsigned index,
                         ArrayRef<BindingKind> kinds) {
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "is no function, but its " << what << " " << index << " is bound";
  if (attribute.getName() == kPrecision && isa<TypeAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() != kBinding)
    return op->emitOpError() << what << " " << index << " has '" << attribute.getName().getValue()
                             << "', which the train dialect does not know; expected '" << kBinding << "'";
  auto binding = dyn_cast<BindingAttr>(attribute.getValue());
  if (!binding)
    return op->emitOpError() << what << " " << index << " has '" << kBinding << "' = " << attribute.getValue()
                             << ", expected a #train.binding";
  if (!llvm::is_contained(kinds, binding.getKind()))
    return op->emitOpError() << what << " " << index << " is bound as "
                             << stringifyBindingKind(binding.getKind()) << ", which no " << what << " can be";
  return success();
}
} // namespace

Attribute BindingAttr::targetOf(MLIRContext *context, BindingKind kind, StringRef name) {
  return namesState(kind) ? Attribute(FlatSymbolRefAttr::get(context, name)) : StringAttr::get(context, name);
}

FlatSymbolRefAttr BindingAttr::getSymbol() const { return dyn_cast<FlatSymbolRefAttr>(getTarget()); }

StringRef BindingAttr::getName() const {
  FlatSymbolRefAttr symbol = getSymbol();
  return symbol ? symbol.getValue() : cast<StringAttr>(getTarget()).getValue();
}

LogicalResult BindingAttr::verify(function_ref<InFlightDiagnostic()> emitError, BindingKind kind,
                                  Attribute target, std::optional<int64_t> part, Type whole) {
  if (namesState(kind) ? !isa<FlatSymbolRefAttr>(target) : !isa<StringAttr>(target))
    return emitError() << stringifyBindingKind(kind) << " names " << target << ", expected "
                       << (namesState(kind) ? "the symbol of a train.state" : "a string");
  if (!part && !whole)
    return success();
  if (kind != BindingKind::Output)
    return emitError() << "only outputs have parts, found one of kind " << stringifyBindingKind(kind);
  if (!part || *part < 0 || !isa_and_nonnull<RankedTensorType>(whole))
    return emitError() << "a part has a first element that is not negative, and the type of the whole tensor";
  return success();
}

BindingAttr bindingOfArgument(FunctionOpInterface function, unsigned index) {
  return function.getArgAttrOfType<BindingAttr>(index, kBinding);
}
BindingAttr bindingOfArgument(FunctionOpInterface function, unsigned index, BindingKind kind) {
  return ofKind(bindingOfArgument(function, index), kind);
}
BindingAttr bindingOfResult(FunctionOpInterface function, unsigned index) {
  return function.getResultAttrOfType<BindingAttr>(index, kBinding);
}
BindingAttr bindingOfResult(FunctionOpInterface function, unsigned index, BindingKind kind) {
  return ofKind(bindingOfResult(function, index), kind);
}

FlatSymbolRefAttr stateOfArgument(FunctionOpInterface function, unsigned index) {
  return stateOf(bindingOfArgument(function, index));
}
FlatSymbolRefAttr stateOfResult(FunctionOpInterface function, unsigned index) {
  return stateOf(bindingOfResult(function, index));
}

void bindArgument(FunctionOpInterface function, unsigned index, BindingAttr binding) {
  function.setArgAttr(index, kBinding, binding);
}
void bindResult(FunctionOpInterface function, unsigned index, BindingAttr binding) {
  function.setResultAttr(index, StringAttr::get(function.getContext(), kBinding), binding);
}

bool isGradientType(Type gradient, Type parameter) {
  auto type = dyn_cast<RankedTensorType>(gradient);
  return type && isa<FloatType>(type.getElementType()) &&
         type.getShape() == cast<RankedTensorType>(parameter).getShape();
}

DictionaryAttr boundTo(BindingAttr binding) {
  MLIRContext *context = binding.getContext();
  return DictionaryAttr::get(context, NamedAttribute(StringAttr::get(context, kBinding), binding));
}

LogicalResult TrainDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                     NamedAttribute attribute) {
  using enum BindingKind;
  if (failed(verifyForm(op, attribute, "argument", index, {State, Input, Scalar})))
    return failure();
  auto function = cast<FunctionOpInterface>(op);
  return firstBoundArgument(function) == index ? SymbolCheck(function).run() : success();
}

LogicalResult TrainDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                        NamedAttribute attribute) {
  using enum BindingKind;
  if (failed(verifyForm(op, attribute, "result", index, {State, Result, Output, AlgorithmOutput, Gradient})))
    return failure();
  auto function = cast<FunctionOpInterface>(op);
  bool isChecked = firstBoundArgument(function).has_value();
  return !isChecked && firstBoundResult(function) == index ? SymbolCheck(function).run() : success();
}

} // namespace kedge::train
