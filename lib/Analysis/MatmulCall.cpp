#include "lib/Analysis/MatmulCall.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"

using namespace mlir;

namespace kedge::analysis {

std::optional<MatmulCall> MatmulCall::of(Operation *op) {
  auto call = dyn_cast_or_null<sched::LibraryOp>(op);
  if (!call || !call.callsAny<onnx::MatMulOp, onnx::GemmOp>())
    return std::nullopt;
  return MatmulCall(call);
}

DictionaryAttr MatmulCall::attributes() const { return library.getAttrs(); }

bool MatmulCall::unpacksB() const { return attributes().contains("unpack"); }

bool MatmulCall::flag(StringRef name) const {
  auto given = attributes().getAs<BoolAttr>(name);
  return given && given.getValue();
}

double MatmulCall::factor(StringRef name) const {
  auto given = attributes().getAs<FloatAttr>(name);
  return given ? given.getValueAsDouble() : 1;
}

void MatmulCall::setWidth(unsigned tensor, int64_t width) {
  const auto widthOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape().back(); };
  SmallVector<int64_t> widths{widthOf(a()), widthOf(b()), widthOf(y())};
  if (auto known = attributes().getAs<DenseI64ArrayAttr>("widths"))
    widths.assign(known.asArrayRef().begin(), known.asArrayRef().end());
  widths[tensor] = width;
  Builder builder(library.getContext());
  NamedAttrList changed(attributes());
  changed.set("widths", builder.getDenseI64ArrayAttr(widths));
  library.setAttrsAttr(changed.getDictionary(library.getContext()));
}

} // namespace kedge::analysis
