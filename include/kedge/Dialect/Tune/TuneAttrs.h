#pragma once
#include "kedge/Dialect/Tune/TuneDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Tune/TuneAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Tune/TuneAttrs.h.inc"

namespace kedge::tune {

// Names of attributes of train.state.
inline constexpr llvm::StringLiteral adapterName = "tune.adapter", encodingName = "tune.encoding",
                                     orthogonalName = "tune.orthogonal", storedName = "tune.stored",
                                     fakeQuantizedName = "tune.fake_quantized",
                                     foldedNormName = "tune.folded_norm", resizedName = "tune.resized",
                                     decayScaleName = "tune.decay_scale";

/// The attribute, or null if the state has none.
inline AdapterAttr adapterOf(mlir::Operation *state) {
  return state->getAttrOfType<AdapterAttr>(adapterName);
}
inline EncodingAttr encodingOf(mlir::Operation *state) {
  return state->getAttrOfType<EncodingAttr>(encodingName);
}

inline ResizedAttr resizedOf(mlir::Operation *state) {
  return state->getAttrOfType<ResizedAttr>(resizedName);
}

/// What the weight decay of a state that trains is multiplied by.
inline double decayScaleOf(mlir::Operation *state) {
  auto scale = state->getAttrOfType<mlir::FloatAttr>(decayScaleName);
  return scale ? scale.getValueAsDouble() : 1;
}

inline FakeQuantizedAttr fakeQuantizationOf(mlir::Operation *state) {
  return state->getAttrOfType<FakeQuantizedAttr>(fakeQuantizedName);
}
inline FoldedNormAttr foldedNormOf(mlir::Operation *state) {
  return state->getAttrOfType<FoldedNormAttr>(foldedNormName);
}

/// Whether codes of the format are ONNX's, packed as ONNX packs them.
inline bool isOfOnnx(Format format) { return format >= Format::UInt2; }
inline bool EncodingAttr::isInFile() const { return getBlock() || isOfOnnx(getFormat()); }
/// Of a code of such a format.
inline int64_t bitsOf(Format format) { return format == Format::UInt2 ? 2 : format == Format::UInt8 ? 8 : 4; }

} // namespace kedge::tune
