#include "lib/Support/AttrJson.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using nlohmann::json;

namespace {
template <typename Array> json list(Array values) {
  json result = json::array();
  for (auto value : values)
    result.push_back(value);
  return result;
}

json dictionary(DictionaryAttr attr) {
  json result = json::object();
  for (NamedAttribute entry : attr)
    result[entry.getName().str()] = kedge::toJson(entry.getValue());
  return result;
}

json scalar(Attribute attr) {
  if (auto boolean = dyn_cast<BoolAttr>(attr))
    return boolean.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getType().isUnsignedInteger() ? json(integer.getValue().getZExtValue())
                                                 : json(integer.getValue().getSExtValue());
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (auto string = dyn_cast<StringAttr>(attr))
    return string.getValue().str();
  if (isa<UnitAttr>(attr))
    return true;
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}
} // namespace

json kedge::toJson(Attribute attr) {
  if (auto a = dyn_cast<DenseI64ArrayAttr>(attr))
    return list(a.asArrayRef());
  if (auto a = dyn_cast<DenseI32ArrayAttr>(attr))
    return list(a.asArrayRef());
  if (auto a = dyn_cast<DenseBoolArrayAttr>(attr))
    return list(a.asArrayRef());
  if (auto a = dyn_cast<DenseF32ArrayAttr>(attr))
    return list(a.asArrayRef());
  if (auto a = dyn_cast<DenseF64ArrayAttr>(attr))
    return list(a.asArrayRef());
  if (auto a = dyn_cast<DictionaryAttr>(attr))
    return dictionary(a);
  if (auto a = dyn_cast<ArrayAttr>(attr)) {
    json result = json::array();
    for (Attribute element : a)
      result.push_back(toJson(element));
    return result;
  }
  return scalar(attr);
}

std::string kedge::dtypeName(Type type) {
  if (type.isInteger(1))
    return "bool";
  if (auto integer = dyn_cast<IntegerType>(type))
    return (integer.isUnsigned() ? "u" : "i") + std::to_string(integer.getWidth());
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3fn";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  if (type.isF16() || type.isF32() || type.isF64())
    return "f" + std::to_string(type.getIntOrFloatBitWidth());
  return "";
}

json kedge::tensorDescription(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {{"dtype", dtypeName(tensor.getElementType())}, {"shape", list(tensor.getShape())}};
}
