#include "runtime/format/Convert.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Folders.h"
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace kedge::rt {
namespace {

constexpr std::string_view kMetadata = "__metadata__"; // no tensor: the format keeps texts there
constexpr int kMostNested = 16;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"F32", DType::F32},  {"F64", DType::F64}, {"F16", DType::F16}, {"BF16", DType::BF16},
    {"I8", DType::I8},    {"I16", DType::I16}, {"I32", DType::I32}, {"I64", DType::I64},
    {"U8", DType::U8},    {"U16", DType::U16}, {"U32", DType::U32}, {"U64", DType::U64},
    {"BOOL", DType::Bool}};

std::string typeText(DType type) {
  for (const auto &[text, known] : kTypes)
    if (known == type)
      return std::string(text);
  return "";
}

/// 16.5 is no size, though it can be converted to one.
template <typename Number>
std::vector<Number> wholeNumbers(const nlohmann::json &entry, const char *key, const std::string &name,
                                 const std::string &path) {
  std::vector<Number> numbers;
  for (const nlohmann::json &one : entry.at(key)) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      fail("{}: '{}' of tensor '{}' has the entry {}, expected whole numbers from 0", path, key, name,
           one.is_structured() ? one.type_name() : one.dump());
    numbers.push_back(one.get<Number>());
  }
  return numbers;
}

TensorView viewOf(const std::string &name, const nlohmann::json &entry, const char *data, uint64_t bytes,
                  const std::string &path) {
  TensorView view;
  const std::string type = entry.at("dtype");
  bool known = false;
  for (const auto &[text, dtype] : kTypes)
    if (text == type) {
      view.desc.type = dtype;
      known = true;
    }
  if (!known)
    fail("{}: tensor '{}' has the type {}, which this program does not read", path, name, type);
  view.desc.shape = wholeNumbers<int64_t>(entry, "shape", name, path);
  const auto offsets = wholeNumbers<uint64_t>(entry, "data_offsets", name, path);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > bytes ||
      checkedBytes(view.desc) != offsets[1] - offsets[0])
    fail("{}: the place of tensor '{}' does not fit its shape, or is outside the file", path, name);
  view.data = data + offsets[0];
  return view;
}

/// A second entry of a name would take the place of the first without a word.
nlohmann::json parseUnique(std::string_view text, const std::string &path) {
  std::set<std::string> names;
  const auto notice = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json &parsed) {
    if (depth > kMostNested)
      fail("{}: damaged safetensors header: nested {} deep", path, depth);
    if (event == nlohmann::json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second)
      fail("{}: holds two tensors named '{}'", path, parsed.get<std::string>());
    return true;
  };
  nlohmann::json header = nlohmann::json::parse(text, notice);
  if (!header.is_object())
    fail("{}: damaged safetensors header: no object", path);
  return header;
}

/// As the format has it, tensors share no bytes and fill the file: what is left over would be lost without a
/// word.
void checkRanges(const std::map<std::string, TensorView> &views, const char *data, size_t bytes,
                 const std::string &path) {
  std::vector<std::pair<const char *, std::string>> places; // empty tensors lie nowhere
  for (const auto &[name, view] : views)
    if (view.desc.bytes() != 0)
      places.emplace_back(view.data, name);
  std::sort(places.begin(), places.end());
  for (size_t at = 1; at < places.size(); ++at)
    if (places[at - 1].first + views.at(places[at - 1].second).desc.bytes() > places[at].first)
      fail("{}: the tensors '{}' and '{}' share bytes", path, places[at - 1].second, places[at].second);
  const char *end = data;
  for (const auto &[begin, name] : places) {
    if (begin != end)
      fail("{}: {} bytes in front of tensor '{}' belong to no tensor: the file is damaged, or no safetensors "
           "file",
           path, begin - end, name);
    end = begin + views.at(name).desc.bytes();
  }
  if (end != data + bytes)
    fail("{}: {} bytes at its end belong to no tensor: the file is damaged, or no safetensors file", path,
         data + bytes - end);
}

} // namespace

std::string safetensorsName(const std::string &name) {
  const bool taken =
      name.rfind(kMetadata, 0) == 0 && name.find_first_not_of('_', kMetadata.size()) == std::string::npos;
  return taken ? name + "_" : name;
}

TensorFile TensorFile::open(const std::string &path) {
  if (platform::isFolder(path))
    return openFolder(path);
  if (path.ends_with(".index.json"))
    return openIndex(path);
  if (path.ends_with(".safetensors"))
    return openSafetensors(path);
  if (path.ends_with(".onnx"))
    return openOnnx(path);
  fail("{}: expected a file that ends in .onnx, .safetensors or .safetensors.index.json, or a folder of them",
       path);
}

TensorFile TensorFile::openSafetensors(const std::string &path) {
  TensorFile result;
  result.isSafetensors = true;
  result.maps.emplace_back(path, "safetensors file");
  const FileMap &file = result.maps.front();
  uint64_t length = 0;
  if (file.size() < 8)
    fail("{}: truncated: no safetensors header", path);
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8)
    fail("{}: truncated or no safetensors file: a header of {} bytes in a file of {}", path, length,
         file.size());
  try {
    const auto header = parseUnique(std::string_view(file.data() + 8, length), path);
    const char *data = file.data() + 8 + length;
    for (const auto &[name, entry] : header.items())
      if (name != kMetadata)
        result.views.emplace(name, viewOf(name, entry, data, file.size() - 8 - length, path));
    checkRanges(result.views, data, file.size() - 8 - length, path);
  } catch (const nlohmann::json::exception &error) {
    fail("{}: damaged safetensors header: {}", path, error.what());
  }
  return result;
}

std::function<void(const char *, size_t)> TensorFile::releaser() const {
  return [this](const char *begin, size_t count) {
    for (const FileMap &map : maps)
      if (begin >= map.data() && begin + count <= map.data() + map.size())
        map.letGo(static_cast<size_t>(begin - map.data()), count);
  };
}

const TensorView *TensorFile::find(const std::string &name) const {
  auto found = views.find(isSafetensors ? safetensorsName(name) : name);
  return found == views.end() ? nullptr : &found->second;
}

void writeSafetensors(FileWriter &writer, const std::vector<TensorOut> &tensors) {
  nlohmann::ordered_json header;
  header[kMetadata] = {{"producer", "kedge"}};
  uint64_t offset = 0;
  for (const TensorOut &tensor : tensors) {
    const uint64_t end = offset + tensor.desc.bytes();
    header[safetensorsName(tensor.name)] = {
        {"dtype", typeText(tensor.desc.type)}, {"shape", tensor.desc.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  writer.write(&length, 8);
  writer.write(text);
  for (const TensorOut &tensor : tensors)
    writeTensorData(writer, tensor);
}

void writeTensorData(FileWriter &writer, const TensorOut &tensor) {
  const int64_t elements = tensor.desc.elements();
  if (elements == 0)
    return;
  const void *data = tensor.data ? tensor.data : tensor.fetch();
  if (tensor.perm.empty() && tensor.dataType == tensor.desc.type) {
    writer.write(data, tensor.desc.bytes());
    return;
  }
  // In slices of about 1 MiB, so that a checkpoint needs no copy of a tensor.
  const std::vector<int64_t> flat{elements};
  const std::vector<int64_t> &shape =
      tensor.perm.empty() || tensor.desc.shape.empty() ? flat : tensor.desc.shape;
  const int64_t rowBytes = static_cast<int64_t>(tensor.desc.bytes()) / shape[0];
  const int64_t rows = std::clamp<int64_t>((1 << 20) / std::max<int64_t>(1, rowBytes), 1, shape[0]);
  std::vector<char> slice(static_cast<size_t>(rows * rowBytes));
  for (int64_t begin = 0; begin < shape[0]; begin += rows) {
    const int64_t end = std::min(shape[0], begin + rows);
    transposeRows(slice.data(), tensor.desc.type, shape, data, tensor.dataType, tensor.perm, begin, end);
    writer.write(slice.data(), static_cast<size_t>((end - begin) * rowBytes));
  }
}

} // namespace kedge::rt
