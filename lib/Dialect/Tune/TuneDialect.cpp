#include "kedge/Dialect/Tune/TuneDialect.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge::tune;

#include "kedge/Dialect/Tune/TuneAttrsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Tune/TuneAttrs.cpp.inc"
#include "kedge/Dialect/Tune/TuneDialect.cpp.inc"

RankedTensorType ResizedAttr::inFile(RankedTensorType type) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[getAxis()] = getBefore();
  return type.clone(shape);
}

void TuneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Tune/TuneAttrs.cpp.inc"
      >();
}

LogicalResult TuneDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  Attribute value = attribute.getValue();
  const bool isState = op->getName().getStringRef() == "train.state";
  const bool fits = name == adapterName         ? isa<AdapterAttr>(value)
                    : name == encodingName      ? isa<EncodingAttr>(value)
                    : name == orthogonalName    ? isa<UnitAttr, IntegerAttr>(value)
                    : name == storedName        ? isa<TypeAttr>(value)
                    : name == fakeQuantizedName ? isa<FakeQuantizedAttr>(value)
                    : name == foldedNormName    ? isa<FoldedNormAttr>(value)
                    : name == resizedName       ? isa<ResizedAttr>(value)
                    : name == decayScaleName    ? isa<FloatAttr>(value)
                                                : false;
  if (isState && fits)
    return success();
  return op->emitOpError("has '")
         << name << "' = " << value
         << ": expected a #tune.adapter, a #tune.encoding, a unit or the number of a dimension, a type, a "
            "#tune.fake_quantized, a #tune.folded_norm, a #tune.resized or a number under the names '"
         << adapterName << "', '" << encodingName << "', '" << orthogonalName << "', '" << storedName
         << "', '" << fakeQuantizedName << "', '" << foldedNormName << "', '" << resizedName << "' and '"
         << decayScaleName << "', on a train.state";
}
