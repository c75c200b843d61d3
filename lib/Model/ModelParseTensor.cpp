// TensorProto: finds where the elements lie and checks their number, without reading them.
#include "lib/Model/ModelParse.h"
#include "lib/Support/Error.h"
#include <charconv>

namespace kedge::model {

namespace {

/// What a TensorProto holds, as found on the wire.
struct Found {
  Span raw, packed;
  bool hasRaw = false, hasSegment = false, isExternal = false;
  int dataField = 0;       // typed field that has elements
  int occurrences = 0;     // of that field
  bool contiguous = false; // that field is packed fixed-width
  uint64_t values = 0;     // in that field
  std::map<std::string, std::string> external;
};

/// Which typed field may hold elements of this type; 0 when only raw_data may.
int typedField(ElementType type) {
  switch (type) {
  case ElementType::Float:
  case ElementType::Complex64:
    return 4;
  case ElementType::Int64:
    return 7;
  case ElementType::String:
    return 6;
  case ElementType::Double:
  case ElementType::Complex128:
    return 10;
  case ElementType::UInt32:
  case ElementType::UInt64:
    return 11;
  case ElementType::Undefined:
    return 0;
  default:
    return 5;
  }
}

uint64_t parseNumber(const Tensor &tensor, const Found &found, const std::string &key, uint64_t otherwise) {
  auto entry = found.external.find(key);
  if (entry == found.external.end())
    return otherwise;
  const std::string &text = entry->second;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{}: {}: external data has {} '{}'; expected a number of bytes", tensor.file->path(),
         tensor.describe(), key, text);
  return value;
}

void placeExternal(ParseContext &context, Tensor &tensor, const Found &found) {
  const std::string &model = context.file->path();
  auto location = found.external.find("location");
  if (location == found.external.end())
    fail("{}: {} has external data without a location; expected the name of a file in the model's folder",
         model, tensor.describe());
  if (tensor.dtype == ElementType::String)
    fail("{}: {}: strings cannot be external data; expected string_data in the model", model,
         tensor.describe());
  tensor.storage = Tensor::Storage::External;
  tensor.externalLocation = location->second;
  tensor.path = resolveExternalPath(model, tensor.externalLocation, tensor.describe());
  tensor.offset = parseNumber(tensor, found, "offset", 0);
  tensor.length = parseNumber(tensor, found, "length", tensor.byteSize());
  if (tensor.length != tensor.byteSize())
    fail("{}: {}: external data has {} bytes; expected {} for this shape and type", model, tensor.describe(),
         tensor.length, tensor.byteSize());
  context.usesExternalData = true;

  int64_t size = regularFileSize(tensor.path);
  if (size < 0 && context.options.requireExternalData)
    fail("{}: {}: its external data file '{}' is missing. Put it into the model's folder", model,
         tensor.describe(), tensor.externalLocation);
  uint64_t available = static_cast<uint64_t>(size);
  if (size >= 0 && (tensor.offset > available || tensor.length > available - tensor.offset))
    fail("{}: {} needs bytes {} to {} of '{}', which has only {} bytes. The data file is cut short or "
         "belongs to "
         "another model",
         model, tensor.describe(), tensor.offset, static_cast<double>(tensor.offset) + tensor.length,
         tensor.externalLocation, size);
}

void placeTyped(WireReader &reader, Tensor &tensor, const Found &found) {
  if (found.dataField != typedField(tensor.dtype))
    reader.damaged(fmt::format("{} has its elements in field {}; expected field {} or raw_data",
                               tensor.describe(), found.dataField, typedField(tensor.dtype)));
  uint64_t expected = static_cast<uint64_t>(tensor.numElements());
  if (tensor.dtype == ElementType::Complex64 || tensor.dtype == ElementType::Complex128)
    expected *= 2;
  if (dtypeBits(tensor.dtype) < 8 && tensor.dtype != ElementType::String)
    expected = tensor.byteSize(); // 4-bit elements share one int32 value a pair
  if (found.values != expected)
    reader.damaged(fmt::format("{} has {} values; expected {}", tensor.describe(), found.values, expected));
  tensor.storage = Tensor::Storage::Encoded;
  tensor.length = tensor.byteSize();
  if (found.contiguous && found.occurrences == 1 && tensor.dtype != ElementType::String) {
    tensor.storage = Tensor::Storage::Inline;
    tensor.offset = found.packed.offset;
  }
}

void placeElements(ParseContext &context, WireReader &reader, Tensor &tensor, const Found &found) {
  if (found.hasSegment)
    reader.damaged(tensor.describe() + " is split into segments, which ONNX never defined for loading");
  if (tensor.dtype == ElementType::Undefined)
    reader.damaged("tensor '" + tensor.name + "' has no element type");
  if (found.isExternal)
    return placeExternal(context, tensor, found);
  tensor.path = context.file->path();
  if (found.hasRaw && found.dataField)
    reader.damaged(fmt::format("{} has both raw_data and field {}", tensor.describe(), found.dataField));
  if (found.hasRaw) {
    if (tensor.dtype == ElementType::String)
      reader.damaged(tensor.describe() + " has strings in raw_data");
    if (found.raw.length != tensor.byteSize())
      reader.damaged(fmt::format("{} has {} bytes of raw_data; expected {}", tensor.describe(),
                                 found.raw.length, tensor.byteSize()));
    tensor.storage = Tensor::Storage::Inline;
    tensor.offset = found.raw.offset;
    tensor.length = found.raw.length;
  } else if (found.dataField) {
    placeTyped(reader, tensor, found);
  } else if (tensor.numElements() == 0) {
    tensor.storage = Tensor::Storage::Encoded;
  } else {
    reader.damaged(tensor.describe() + " has no elements");
  }
}

void readDims(WireReader &reader, Tensor &tensor) {
  reader.varints([&](int64_t d) {
    if (d < 0)
      reader.damaged(fmt::format("tensor '{}' has the negative dimension {}", tensor.name, d));
    tensor.dims.push_back(d);
  });
}

/// Counts elements of a typed field; nothing is stored.
void countElements(WireReader &reader, Tensor &tensor, Found &found) {
  if (found.dataField && found.dataField != reader.field())
    reader.damaged(fmt::format("tensor '{}' has elements in the fields {} and {}", tensor.name,
                               found.dataField, reader.field()));
  uint64_t before = found.values;
  switch (reader.field()) {
  case 4:
    reader.floats([&](float) { ++found.values; });
    break;
  case 10:
    reader.doubles([&](double) { ++found.values; });
    break;
  case 6:
    tensor.strings.push_back(reader.byteString());
    ++found.values;
    break;
  default:
    reader.varints([&](int64_t) { ++found.values; });
    break;
  }
  if (found.values == before)
    return; // an empty packed field says nothing
  found.dataField = reader.field();
  ++found.occurrences;
  found.contiguous =
      (reader.field() == 4 || reader.field() == 10) && reader.type() == WireReader::Type::Bytes;
  if (reader.type() == WireReader::Type::Bytes)
    found.packed = reader.bytes();
}

void checkSize(WireReader &reader, const Tensor &tensor) {
  // 2^56 bytes: more than any file, and far from overflow.
  uint64_t bytes = std::max(1u, dtypeBits(tensor.dtype) / 8);
  for (int64_t d : tensor.dims)
    if (d == 0)
      return;
  for (int64_t d : tensor.dims) {
    if (static_cast<uint64_t>(d) > (uint64_t(1) << 56) / bytes)
      reader.damaged("tensor '" + tensor.name + "' has impossibly large dimensions");
    bytes *= static_cast<uint64_t>(d);
  }
}

} // namespace

Tensor parseTensor(ParseContext &context, Span span) {
  Tensor tensor;
  tensor.place = span.offset;
  tensor.placeLength = span.length;
  tensor.file = context.file;
  Found found;
  WireReader reader(*context.file, span, "a tensor");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      readDims(reader, tensor);
      break;
    case 2: {
      int64_t type = reader.varint();
      if (type < 0 || type > static_cast<int64_t>(ElementType::Int2))
        reader.damaged(fmt::format("tensor '{}' has the unknown element type {}", tensor.name, type));
      tensor.dtype = static_cast<ElementType>(type);
      break;
    }
    case 3:
      found.hasSegment = true;
      break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 10:
    case 11:
      countElements(reader, tensor, found);
      break;
    case 8:
      tensor.name = reader.string();
      break;
    case 9:
      found.raw = reader.bytes();
      found.hasRaw = true;
      break;
    case 12:
      tensor.doc = reader.string();
      break;
    case 13:
      found.external.insert(parseEntry(context, reader.bytes()));
      break;
    case 14:
      found.isExternal = reader.varint() == 1;
      break;
    case 16:
      tensor.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  checkSize(reader, tensor);
  placeElements(context, reader, tensor, found);
  return tensor;
}

} // namespace kedge::model
