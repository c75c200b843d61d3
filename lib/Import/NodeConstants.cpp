#include "lib/Import/NodeConstants.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "lib/Support/Error.h"
#include <cstring>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

Type kedge::importer::elementType(MLIRContext &context, model::ElementType type) {
  using model::ElementType;
  auto integer = [&](unsigned bits, bool isUnsigned = false) {
    return IntegerType::get(&context, bits, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case ElementType::Float:
    return Float32Type::get(&context);
  case ElementType::Double:
    return Float64Type::get(&context);
  case ElementType::Float16:
    return Float16Type::get(&context);
  case ElementType::BFloat16:
    return BFloat16Type::get(&context);
  case ElementType::Bool:
    return integer(1);
  case ElementType::Int8:
    return integer(8);
  case ElementType::Int16:
    return integer(16);
  case ElementType::Int32:
    return integer(32);
  case ElementType::Int64:
    return integer(64);
  case ElementType::UInt8:
    return integer(8, true);
  case ElementType::UInt16:
    return integer(16, true);
  case ElementType::UInt32:
    return integer(32, true);
  case ElementType::UInt64:
    return integer(64, true);
  default:
    return {};
  }
}

Type kedge::importer::storedType(MLIRContext &context, model::ElementType type) {
  if (!model::isNarrow(type))
    return elementType(context, type);
  auto integer = model::narrowInteger(type);
  bool isSigned = integer && integer->low < 0;
  return IntegerType::get(&context, 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
}

DenseElementsAttr kedge::importer::denseAttribute(RankedTensorType type, const model::Tensor &tensor) {
  if (model::isNarrow(tensor.dtype)) {
    std::vector<uint8_t> codes = model::narrowCodes(tensor);
    return DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef(reinterpret_cast<const char *>(codes.data()), codes.size()));
  }
  model::Bytes bytes = tensor.bytes();
  size_t width = model::dtypeBits(tensor.dtype) / 8;
  if (bytes.size != width * tensor.numElements())
    fail("{}: expected {} bytes, found {}", tensor.describe(), width * tensor.numElements(), bytes.size);
  if (tensor.dtype == model::ElementType::Bool) {
    SmallVector<bool> values(bytes.data, bytes.data + bytes.size);
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  // A buffer of one element stands for a splat.
  bool splat = bytes.size > width && std::memcmp(bytes.data, bytes.data + width, bytes.size - width) == 0;
  ArrayRef<char> raw(reinterpret_cast<const char *>(bytes.data), splat ? width : bytes.size);
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

Value kedge::importer::emptyConstant(OpBuilder &builder, Location loc, RankedTensorType type) {
  return onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>()));
}
