#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/Kedge/Target.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge;

#include "kedge/Dialect/Kedge/KedgeAttrsEnums.cpp.inc"
#include "kedge/Dialect/Kedge/KedgeDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Kedge/KedgeAttrs.cpp.inc"

namespace {
/// A place is written once, and short where it is used.
struct PlaceAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto place = dyn_cast<PlaceAttr>(attribute);
    if (!place)
      return AliasResult::NoAlias;
    os << stringifyTrainingPhase(place.getPhase()) << '_';
    for (char c : place.getModule().empty() ? place.getNode() : place.getModule())
      os << (llvm::isAlnum(c) ? c : '_');
    return AliasResult::FinalAlias;
  }
};

LogicalResult verifyResultPlaces(Operation *op, Attribute value) {
  auto places = dyn_cast<ArrayAttr>(value);
  if (!places || !llvm::all_of(places, [](Attribute place) { return isa<PlaceAttr>(place); }))
    return op->emitOpError("'kedge.result_places' should be a list of #kedge.place");
  if (places.size() != op->getNumResults())
    return op->emitOpError("'kedge.result_places' has ")
           << places.size() << " places for " << op->getNumResults() << " results";
  return success();
}
} // namespace

void KedgeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Kedge/KedgeAttrs.cpp.inc"
      >();
  addInterfaces<PlaceAliases>();
}

LogicalResult KedgeDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == "kedge.place" && !isa<PlaceAttr>(attribute.getValue()))
    return op->emitOpError("'kedge.place' should be a #kedge.place");
  if (attribute.getName() == "kedge.result_places")
    return verifyResultPlaces(op, attribute.getValue());
  if (attribute.getName() == valuesName)
    return verifyValueNotes(op, attribute.getValue());
  auto target = dyn_cast<StringAttr>(attribute.getValue());
  if (attribute.getName() == TargetNote::getNameStr() &&
      (!target || !valueNamed<TargetKind>(target.getValue())))
    return op->emitOpError("'kedge.target' should be the name of a target: ") << listOfWords<TargetKind>();
  if (attribute.getName() == RowsNote::getNameStr() && !isa<DenseI64ArrayAttr>(attribute.getValue()))
    return op->emitOpError("'kedge.rows' should be a list of numbers");
  if (attribute.getName() == SavedNote::getNameStr() && !isa<DictionaryAttr>(attribute.getValue()))
    return op->emitOpError("'kedge.saved' should be a dictionary, as --save-ir writes it");
  return success();
}

StringRef PlaceAttr::label() const {
  if (getPhase() == TrainingPhase::Backward)
    return "backward";
  return getModule().empty() ? getNode() : getModule();
}

PlaceAttr PlaceAttr::in(TrainingPhase phase) const {
  return get(getContext(), phase, getModule(), getNode());
}
