// Reads the weights of an ONNX file, wherever it has them: initializers, also of graphs within nodes,
// Constants, and attributes of linear models. Only the fields of protobuf's wire format that they need.
#include "runtime/format/Convert.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include <algorithm>
#include <set>

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
        graph(fields.bytes, 0);
    for (const std::string &name : ambiguous)
      result.views.erase(name);
  }

private:
  /// Those of the main graph first: a name is theirs.
  void graph(std::string_view bytes, int depth) {
    if (depth > kDepth)
      fail("{}: graphs are nested deeper than {}", path, kDepth);
    for (Fields fields(bytes.data(), bytes.size(), path); fields.step();)
      if (fields.number == 5)
        tensor(fields.bytes, "", depth > 0);
    for (Fields fields(bytes.data(), bytes.size(), path); fields.step();)
      if (fields.number == 1)
        node(fields.bytes, depth);
  }

  struct Node {
    std::string output, name, op, domain;
    std::vector<std::string_view> attributes;
  };

  void node(std::string_view bytes, int depth) {
    Node node;
    for (Fields fields(bytes.data(), bytes.size(), path); fields.step();)
      if (fields.number == 2 && node.output.empty())
        node.output = std::string(fields.bytes);
      else if (fields.number == 3)
        node.name = std::string(fields.bytes);
      else if (fields.number == 4)
        node.op = std::string(fields.bytes);
      else if (fields.number == 5)
        node.attributes.push_back(fields.bytes);
      else if (fields.number == 7)
        node.domain = std::string(fields.bytes);
    const bool isLinear = node.domain == "ai.onnx.ml" && node.op.rfind("Linear", 0) == 0;
    for (const std::string_view attribute : node.attributes)
      for (Fields fields(attribute.data(), attribute.size(), path); fields.step();)
        if (fields.number == 6 || fields.number == 11)
          graph(fields.bytes, depth + 1);
        else if (fields.number == 5 && node.domain.empty() && node.op == "Constant")
          tensor(fields.bytes, node.output, true);
    if (isLinear)
      linear(node);
  }

  /// The numbers of coefficients and intercepts, under the names that the compiler gives them.
  void linear(const Node &node) {
    const std::string owner = node.name.empty() ? node.output : node.name;
    std::map<std::string, std::vector<char>> numbers;
    int64_t targets = 1;
    for (const std::string_view attribute : node.attributes) {
      std::string name;
      std::vector<char> values;
      int64_t number = 0;
      for (Fields fields(attribute.data(), attribute.size(), path); fields.step();)
        if (fields.number == 1)
          name = std::string(fields.bytes);
        else if (fields.number == 3)
          number = static_cast<int64_t>(fields.value);
        else if (fields.number == 7) // one by one, or packed
          values.insert(values.end(), fields.bytes.begin(), fields.bytes.end());
      if (name == "targets")
        targets = number;
      if (name == "coefficients" || name == "intercepts")
        numbers[name] = std::move(values);
    }
    const auto count = [&](const std::string &name) {
      return static_cast<int64_t>(numbers[name].size() / 4);
    };
    const int64_t rows = std::max<int64_t>(1, count("intercepts") ? count("intercepts") : targets);
    for (auto &[name, values] : numbers) {
      TensorView view;
      const int64_t all = static_cast<int64_t>(values.size() / 4);
      view.desc.type = DType::F32;
      view.desc.shape =
          name == "coefficients" ? std::vector<int64_t>{rows, all / rows} : std::vector<int64_t>{all};
      result.made.push_back(std::move(values));
      view.data = result.made.back().data();
      keep(owner + "." + name, std::move(view), true);
    }
  }

  /// A name that several graphs use says nothing, but for the main graph's.
  void keep(const std::string &name, TensorView view, bool isInner) {
    if (!isInner)
      mine.insert(name);
    if (!result.views.emplace(name, std::move(view)).second && isInner && !mine.count(name))
      ambiguous.insert(name);
  }

  void tensor(std::string_view bytes, std::string name, bool isInner) {
    TensorView view;
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
      else if (fields.number == 8 && name.empty())
        name = std::string(fields.bytes);
      else if (fields.number == 13)
        readExternal(fields.bytes, external, path);
      else if (fields.number == 14)
        elsewhere = fields.value == 1;
    }
    if (type == 8 || (isInner && type != 1 && type != 10 && type != 11 && type != 16))
      return; // strings are no weights, and numbers of the graph are none
    view.desc.type = onnxType(type, name, path);
    const auto bytesNeeded = checkedBytes(view.desc);
    if (!bytesNeeded)
      fail("{}: tensor '{}' has an impossible shape {}", path, name, shapeText(view.desc.shape));
    if (elsewhere)
      data = externalBytes(external, *bytesNeeded, name);
    if (data.size() != *bytesNeeded)
      return; // stored element by element: no weight that a program takes; asked for, it is reported missing
    view.data = data.data();
    keep(name, std::move(view), isInner);
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
    if (external.location.empty() || platform::isAbsolute(external.location) ||
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

  static constexpr int kDepth = 64;
  TensorFile &result;
  const std::string &path;
  std::set<std::string> mine, ambiguous;
};

TensorFile TensorFile::openOnnx(const std::string &path) {
  TensorFile result;
  result.maps.emplace_back(path, "weights file");
  OnnxInitializers(result, path).model();
  return result;
}

} // namespace kedge::rt
