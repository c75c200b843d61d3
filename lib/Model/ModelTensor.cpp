// Reading the elements of a tensor, wherever they are.
#include "lib/Model/ModelWire.h"
#include "lib/Model/NarrowTypes.h"
#include "lib/Model/ShownName.h"
#include "lib/Support/Error.h"
#include <cmath>
#include <cstring>

namespace kedge::model {

int64_t Tensor::numElements() const {
  for (int64_t d : dims)
    if (d == 0)
      return 0;
  int64_t count = 1;
  for (int64_t d : dims)
    count *= d;
  return count;
}

uint64_t Tensor::byteSize() const {
  return (static_cast<uint64_t>(numElements()) * dtypeBits(dtype) + 7) / 8;
}

std::string Tensor::describe() const {
  return fmt::format("tensor '{}' ({}[{}])", shownName(name), dtypeName(dtype), fmt::join(dims, "x"));
}

namespace {

template <typename T> void append(std::vector<uint8_t> &out, T value) {
  size_t end = out.size();
  out.resize(end + sizeof(T));
  std::memcpy(out.data() + end, &value, sizeof(T));
}

void appendInteger(std::vector<uint8_t> &out, ElementType type, int64_t value) {
  // Types below 8 bits: each value of int32_data is one byte that holds several elements.
  unsigned bytes = std::max(1u, dtypeBits(type) / 8);
  size_t end = out.size();
  out.resize(end + bytes);
  std::memcpy(out.data() + end, &value, bytes); // the low bytes, little-endian
}

Bytes decode(const Tensor &tensor) {
  auto out = std::make_shared<std::vector<uint8_t>>();
  if (tensor.numElements() == 0)
    return {out->data(), 0, out};
  out->reserve(tensor.byteSize());
  WireReader reader(*tensor.file, {tensor.place, tensor.placeLength}, "a tensor");
  while (reader.next()) {
    switch (reader.field()) {
    case 4:
      reader.floats([&](float v) { append(*out, v); });
      break;
    case 10:
      reader.doubles([&](double v) { append(*out, v); });
      break;
    case 5:
    case 7:
    case 11:
      reader.varints([&](int64_t v) { appendInteger(*out, tensor.dtype, v); });
      break;
    default:
      break;
    }
  }
  if (out->size() != tensor.byteSize())
    fail("{}: {} decodes to {} bytes; expected {}", tensor.path, tensor.describe(), out->size(),
         tensor.byteSize());
  return {out->data(), out->size(), out};
}

double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  double fraction = bits & 1023;
  double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double bfloatToDouble(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

template <typename T> T load(const uint8_t *data, size_t k) {
  T value;
  std::memcpy(&value, data + k * sizeof(T), sizeof(T));
  return value;
}

/// Fills `values` with what convert(element) makes of each, the element in its own C++ type; false when there
/// is none for this type. They get room only after the bytes were found: a shape alone may promise more than
/// there is.
template <typename T, typename F>
bool convertElements(const Tensor &tensor, std::vector<T> &values, F &&convert) {
  Bytes bytes = tensor.bytes();
  const uint8_t *data = bytes.data;
  size_t count = static_cast<size_t>(tensor.numElements());
  values.resize(count);
  auto all = [&](auto element) {
    for (size_t k = 0; k < count; ++k)
      values[k] = convert(element(k));
    return true;
  };
  switch (tensor.dtype) {
  case ElementType::Float:
    return all([&](size_t k) { return load<float>(data, k); });
  case ElementType::Double:
    return all([&](size_t k) { return load<double>(data, k); });
  case ElementType::Float16:
    return all([&](size_t k) { return halfToDouble(load<uint16_t>(data, k)); });
  case ElementType::BFloat16:
    return all([&](size_t k) { return bfloatToDouble(load<uint16_t>(data, k)); });
  case ElementType::Int8:
    return all([&](size_t k) { return load<int8_t>(data, k); });
  case ElementType::Int16:
    return all([&](size_t k) { return load<int16_t>(data, k); });
  case ElementType::Int32:
    return all([&](size_t k) { return load<int32_t>(data, k); });
  case ElementType::Int64:
    return all([&](size_t k) { return load<int64_t>(data, k); });
  case ElementType::UInt8:
    return all([&](size_t k) { return load<uint8_t>(data, k); });
  case ElementType::UInt16:
    return all([&](size_t k) { return load<uint16_t>(data, k); });
  case ElementType::UInt32:
    return all([&](size_t k) { return load<uint32_t>(data, k); });
  case ElementType::UInt64:
    return all([&](size_t k) { return load<uint64_t>(data, k); });
  case ElementType::Bool:
    return all([&](size_t k) { return load<uint8_t>(data, k) != 0; });
  default:
    break;
  }
  if (!isNarrow(tensor.dtype))
    return false;
  std::vector<uint8_t> codes = narrowCodes(tensor);
  return all([&](size_t k) { return narrowValue(tensor.dtype, codes[k]); });
}

} // namespace

static rt::DType floatType(ElementType type) {
  return type == ElementType::Double     ? rt::DType::F64
         : type == ElementType::Float16  ? rt::DType::F16
         : type == ElementType::BFloat16 ? rt::DType::BF16
                                         : rt::DType::F32;
}

Bytes Tensor::bytes() const {
  const Bytes found = bytesInFile();
  if (!resized)
    return found;
  auto made = std::make_shared<const std::vector<char>>(
      rt::resizedTensor(reinterpret_cast<const char *>(found.data), {floatType(dtype), dims}, *resized));
  return {reinterpret_cast<const uint8_t *>(made->data()), made->size(), made};
}

Bytes Tensor::bytesInFile() const {
  if (dtype == ElementType::String)
    fail("{}: {} holds strings; expected numbers", path, describe());
  if (storage == Storage::Owned)
    return owned ? Bytes{owned->data(), owned->size(), owned} : Bytes{};
  if (storage == Storage::Inline)
    return {file->data() + offset, length, file};
  if (storage == Storage::Encoded)
    return decode(*this);
  if (length == 0)
    return {};
  if (regularFileSize(path) < 0)
    fail("{}: {}: its external data file '{}' is missing. Put it into the model's folder", file->path(),
         describe(), externalLocation);
  std::shared_ptr<const MappedFile> external = MappedFile::open(path);
  if (offset > external->size() || length > external->size() - offset)
    fail("{}: {} needs bytes {} and on of '{}', which has only {} bytes; expected {} there. The data file is "
         "cut short "
         "or belongs to another model",
         file->path(), describe(), offset, externalLocation, external->size(), length);
  return {external->data() + offset, length, external};
}

std::vector<int64_t> Tensor::ints() const {
  std::vector<int64_t> values;
  auto toInteger = [&](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>) {
      if (!(v >= -0x1p63 && v < 0x1p63))
        fail("{}: {} has the element {}; expected integers", path, describe(), v);
    }
    return static_cast<int64_t>(v);
  };
  if (!convertElements(*this, values, toInteger))
    fail("{}: {} cannot be read as integers", path, describe());
  return values;
}

std::vector<double> Tensor::floats() const {
  std::vector<double> values;
  if (!convertElements(*this, values, [](auto v) { return static_cast<double>(v); }))
    fail("{}: {} cannot be read as numbers", path, describe());
  return values;
}

Tensor Tensor::make(std::string name, ElementType type, std::vector<int64_t> dims,
                    std::vector<uint8_t> bytes) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = type;
  tensor.dims = std::move(dims);
  tensor.length = bytes.size();
  tensor.owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  if (type != ElementType::String && tensor.length != tensor.byteSize())
    fail("{} was made from {} bytes; expected {}", tensor.describe(), tensor.length, tensor.byteSize());
  return tensor;
}

Tensor Tensor::makeInts(std::string name, std::vector<int64_t> dims, const std::vector<int64_t> &values) {
  std::vector<uint8_t> bytes;
  for (int64_t v : values)
    append(bytes, v);
  return make(std::move(name), ElementType::Int64, std::move(dims), std::move(bytes));
}

Tensor Tensor::makeFloats(std::string name, std::vector<int64_t> dims, const std::vector<float> &values) {
  std::vector<uint8_t> bytes;
  for (float v : values)
    append(bytes, v);
  return make(std::move(name), ElementType::Float, std::move(dims), std::move(bytes));
}

} // namespace kedge::model
