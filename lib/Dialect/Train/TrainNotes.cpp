// Attributes that passes leave on functions and the module: which there are, on what, and of which type.
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "kedge/Dialect/Train/TrainDialect.h"

using namespace mlir;

namespace kedge::train {
namespace {

struct NoteRule {
  llvm::StringLiteral name, expected;
  bool (*fits)(Operation *op, Attribute value);
};

template <typename Attr> bool onModule(Operation *op, Attribute value) {
  return isa<ModuleOp>(op) && isa<Attr>(value);
}
template <typename Attr> bool onFunction(Operation *op, Attribute value) {
  return isa<FunctionOpInterface>(op) && isa<Attr>(value);
}
template <typename Attr> bool anywhere(Operation *, Attribute value) { return isa<Attr>(value); }

constexpr NoteRule noteRules[] = {
    {BoundsNote::getNameStr(), "ranges of indices by input", anywhere<DictionaryAttr>},
    {ModulesNote::getNameStr(), "a dictionary of modules, on the module", onModule<DictionaryAttr>},
    {UpdatesNote::getNameStr(), "a list of states, on the module", onModule<ArrayAttr>},
    {NominalItemsNote::getNameStr(), "a number of items, on a function", onFunction<FloatAttr>},
    {LossGradientNote::getNameStr(), "a number, on a function", onFunction<FloatAttr>},
    {TrainingInfoNote::getNameStr(), "a unit, on a function", onFunction<UnitAttr>},
    {ChunkNote::getNameStr(), "the number of a chunk", anywhere<IntegerAttr>},
    {kPrecision, "a type", anywhere<TypeAttr>},
    {kFloat8, "a list of types", anywhere<ArrayAttr>},
};

} // namespace

LogicalResult TrainDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kKind)
    return verifyKind(op, attribute.getValue());
  for (const NoteRule &rule : noteRules)
    if (attribute.getName() == rule.name)
      return rule.fits(op, attribute.getValue()) ? success()
                                                 : op->emitOpError("'")
                                                       << rule.name << "' should be " << rule.expected
                                                       << ", found " << attribute.getValue();
  return op->emitOpError("has '") << attribute.getName().getValue()
                                  << "', which is no note of the dialect train";
}

} // namespace kedge::train
