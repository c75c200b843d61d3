#include "lib/Interpret/ConstantEvaluator.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace mlir;
using namespace kedge;
using namespace kedge::interpret;

namespace {
unsigned elementBytes(Type type) { return type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8; }

template <typename T> T read(const std::vector<char> &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}
} // namespace

int64_t HostTensor::intAt(int64_t index) const {
  Type element = type.getElementType();
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (elementBytes(element)) {
  case 1:
    return isUnsigned ? read<uint8_t>(bytes, index) : read<int8_t>(bytes, index);
  case 2:
    return isUnsigned ? read<uint16_t>(bytes, index) : read<int16_t>(bytes, index);
  case 4:
    return isUnsigned ? int64_t(read<uint32_t>(bytes, index)) : int64_t(read<int32_t>(bytes, index));
  default:
    return read<int64_t>(bytes, index);
  }
}

double HostTensor::floatAt(int64_t index) const {
  Type element = type.getElementType();
  if (element.isF32())
    return read<float>(bytes, index);
  if (element.isF64())
    return read<double>(bytes, index);
  if (auto floating = dyn_cast<FloatType>(element)) {
    APFloat value(floating.getFloatSemantics(), APInt(16, read<uint16_t>(bytes, index)));
    bool inexact;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  }
  return element.isUnsignedInteger(64) ? static_cast<double>(read<uint64_t>(bytes, index))
                                       : static_cast<double>(intAt(index));
}

DenseElementsAttr HostTensor::toAttribute() const {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values;
    for (char byte : bytes)
      values.push_back(byte != 0);
    bool splat = !values.empty() && llvm::all_equal(values);
    return splat ? DenseElementsAttr::get(type, ArrayRef<bool>(values[0]))
                 : DenseElementsAttr::get(type, values);
  }
  size_t width = elementBytes(type.getElementType());
  bool splat =
      bytes.size() > width && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
  return DenseElementsAttr::getFromRawBuffer(type,
                                             ArrayRef<char>(bytes).take_front(splat ? width : bytes.size()));
}

HostTensor HostTensor::fromAttribute(ElementsAttr attribute) {
  HostTensor tensor{cast<RankedTensorType>(attribute.getShapedType()), {}};
  auto dense = cast<DenseElementsAttr>(attribute);
  if (tensor.type.getElementType().isInteger(1)) {
    for (bool value : dense.getValues<bool>())
      tensor.bytes.push_back(value);
    return tensor;
  }
  size_t width = elementBytes(tensor.type.getElementType());
  ArrayRef<char> raw = dense.getRawData();
  tensor.bytes.resize(width * tensor.elements());
  for (size_t at = 0; at < tensor.bytes.size(); at += width)
    std::memcpy(tensor.bytes.data() + at, raw.data() + (dense.isSplat() ? 0 : at), width);
  return tensor;
}
