// Reads the initializers of an ONNX file: only the fields of protobuf's wire format that they need.
#include "runtime/format/Convert.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/Error.h"

namespace kedge::rt {
namespace {

/// A run of fields; throws on bytes that are no protobuf message.
class Fields {
public:
  Fields(const char *data, size_t size, const std::string &path)
      : next(reinterpret_cast<const unsigned char *>(data)), end(next + size), path(path) {}

  /// Steps to the next field; false at the end.
  bool step() {
    if (next == end)
      return false;
    const uint64_t key = varint();
    number = static_cast<int>(key >> 3);
    value = 0;
    bytes = {};
    switch (key & 7) {
    case 0:
      value = varint();
      break;
    case 1:
      bytes = take(8);
      break;
    case 2:
      bytes = take(varint());
      break;
    case 5:
      bytes = take(4);
      break;
    default:
      fail("{}: not an ONNX file, or a damaged one", path);
    }
    return true;
  }

  uint64_t varint() {
    uint64_t result = 0;
    for (int shift = 0; shift < 64 && next != end; shift += 7) {
      const unsigned char byte = *next++;
      result |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128)
        return result;
    }
    fail("{}: not an ONNX file, or a truncated one", path);
  }

  int number = 0;
  uint64_t value = 0;
  std::string_view bytes;

private:
  std::string_view take(uint64_t count) {
    if (count > static_cast<uint64_t>(end - next))
      fail("{}: not an ONNX file, or a truncated one", path);
    const std::string_view result(reinterpret_cast<const char *>(next), count);
    next += count;
    return result;
  }

  const unsigned char *next, *end;
  const std::string &path;
};

DType onnxType(uint64_t code, const std::string &name, const std::string &path) {
  constexpr std::pair<uint64_t, DType> known[] = {
      {1, DType::F32},  {2, DType::U8},   {3, DType::I8},   {4, DType::U16},  {5, DType::I16},
      {6, DType::I32},  {7, DType::I64},  {9, DType::Bool}, {10, DType::F16}, {11, DType::F64},
      {12, DType::U32}, {13, DType::U64}, {16, DType::BF16}};
  for (const auto &[number, type] : known)
    if (number == code)
      return type;
  fail("{}: tensor '{}' has the ONNX element type {}, which this program does not read", path, name, code);
}

struct External {
  std::string location;
  uint64_t offset = 0;
};

void readExternal(std::string_view entry, External &external, const std::string &path) {
  std::string key, value;
  for (Fields fields(entry.data(), entry.size(), path); fields.step();)
    (fields.number == 1 ? key : value) = std::string(fields.bytes);
  if (key == "location")
    external.location = value;
  else if (key == "offset")
    external.offset = std::strtoull(value.c_str(), nullptr, 10);
}

} // namespace

/// Collects views; maps external files once.
class OnnxInitializers {
public:
  OnnxInitializers(TensorFile &result, const std::string &path) : result(result), path(path) {}

  void model() {
    const std::string_view all(result.maps.front().data(), result.maps.front().size());
    for (Fields fields(all.data(), all.size(), path); fields.step();)
      if (fields.number == 7)
        graph(fields.bytes);
  }

private:
  void graph(std::string_view bytes) {
    for (Fields fields(bytes.data(), bytes.size(), path); fields.step();)
      if (fields.number == 5)
        tensor(fields.bytes);
  }

  void tensor(std::string_view bytes) {
    TensorView view;
    std::string name;
    std::string_view data;
    External external;
    uint64_t type = 0;
    bool elsewhere = false;
    for (Fields fields(bytes.data(), bytes.size(), path); fields.step();) {
      if (fields.number == 1 && fields.bytes.empty())
        view.desc.shape.push_back(static_cast<int64_t>(fields.value));
      else if (fields.number == 1)
        packedDims(fields.bytes, view.desc.shape);
      else if (fields.number == 2)
        type = fields.value;
      else if (fields.number == 4 || fields.number == 9 || fields.number == 10)
        data = fields.bytes;
      else if (fields.number == 8)
        name = std::string(fields.bytes);
      else if (fields.number == 13)
        readExternal(fields.bytes, external, path);
      else if (fields.number == 14)
        elsewhere = fields.value == 1;
    }
    if (type == 8)
      return; // strings are no weights
    view.desc.type = onnxType(type, name, path);
    const auto bytesNeeded = checkedBytes(view.desc);
    if (!bytesNeeded)
      fail("{}: tensor '{}' has an impossible shape {}", path, name, shapeText(view.desc.shape));
    if (elsewhere)
      data = externalBytes(external, *bytesNeeded, name);
    if (data.size() != *bytesNeeded)
      return; // stored element by element: no weight that a program takes; asked for, it is reported missing
    view.data = data.data();
    result.views.emplace(name, std::move(view));
  }

  void packedDims(std::string_view bytes, std::vector<int64_t> &shape) {
    Fields fields(bytes.data(), bytes.size(), path);
    for (size_t used = 0; used < bytes.size();) {
      const uint64_t extent = fields.varint();
      shape.push_back(static_cast<int64_t>(extent));
      do
        ++used;
      while (static_cast<unsigned char>(bytes[used - 1]) >= 128);
    }
  }

  std::string_view externalBytes(const External &external, uint64_t length, const std::string &name) {
    if (external.location.empty() || external.location[0] == '/' ||
        external.location.find("..") != std::string::npos)
      fail("{}: tensor '{}' is in '{}', outside the model's folder", path, name, external.location);
    const std::string place = folderOf(path) + "/" + external.location;
    const FileMap *file = nullptr;
    for (const FileMap &map : result.maps)
      if (map.path() == place)
        file = &map;
    if (!file) {
      result.maps.emplace_back(place, "external data of " + path);
      file = &result.maps.back();
    }
    if (external.offset > file->size() || length > file->size() - external.offset)
      fail("{}: truncated: tensor '{}' of {} ends beyond its {} bytes", place, name, path, file->size());
    return {file->data() + external.offset, length};
  }

  TensorFile &result;
  const std::string &path;
};

TensorFile TensorFile::openOnnx(const std::string &path) {
  TensorFile result;
  result.maps.emplace_back(path, "weights file");
  OnnxInitializers(result, path).model();
  return result;
}

} // namespace kedge::rt
