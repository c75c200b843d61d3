#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"

using namespace mlir;
using namespace kedge;

PlaceAttr kedge::placeOf(Operation *op) { return op->getAttrOfType<PlaceAttr>(placeName); }

PlaceAttr kedge::placeOfProducer(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? placeOf(op) : PlaceAttr();
}

void kedge::setPlace(Operation *op, PlaceAttr place) {
  if (place)
    op->setAttr(placeName, place);
}

bool kedge::needsPlace(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "exec")
    return op->getName().stripDialect() == "launch" || op->getName().stripDialect() == "copy";
  bool isOurs = dialect == "onnx" || dialect == "train" || dialect == "dist" || dialect == "sched" ||
                isOfOnnxDomain(op);
  Operation *parent = op->getParentOp();
  bool isBody = parent && parent->getName().getDialectNamespace() == "sched";
  return isOurs && !isBody && op->getNumResults() > 0 && !op->hasTrait<OpTrait::ConstantLike>();
}

DictionaryAttr kedge::attributesWithoutPlace(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(placeName);
  attributes.erase(valuesName);
  return attributes.getDictionary(op->getContext());
}

void PlaceListener::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  if (place && needsPlace(op) && !placeOf(op))
    setPlace(op, place);
}
