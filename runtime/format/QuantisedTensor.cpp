#include "runtime/format/QuantisedTensor.h"
#include "runtime/io/Error.h"
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace kedge::rt {
namespace {

using nlohmann::json;

constexpr const char *kStates[] = {".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"};
constexpr const char *kParts[] = {".absmax",           ".quant_map", ".nested_absmax",
                                  ".nested_quant_map", kStates[0],   kStates[1]};
constexpr std::string_view kWeight = ".weight";

std::string withoutEnd(const std::string &text, std::string_view end) {
  return text.substr(0, text.size() - end.size());
}

const TensorView *stateOf(const TensorFile &file, const std::string &name, std::string &key) {
  for (const char *state : kStates)
    if (const TensorView *view = file.find(key = name + state))
      return view;
  return nullptr;
}

bool isCodes8(const TensorFile &file, const std::string &name) {
  const TensorView *view = file.find(name);
  return view && view->desc.type == DType::I8 && name.ends_with(kWeight) &&
         file.find(withoutEnd(name, kWeight) + ".SCB");
}

/// Reads the keys of one weight.
class Keys {
public:
  Keys(const TensorFile &file, const std::string &path, const std::string &name)
      : file(file), path(path), name(name) {}

  QuantisedTensor eightBits() const {
    QuantisedTensor result;
    result.format = QuantizedFormat::Int8;
    result.codes = file.find(name);
    result.shape = result.codes->desc.shape;
    if (result.shape.size() != 2)
      fail("{}: '{}' is {}, expected the codes of a matrix", path, name, shapeText(result.shape));
    const std::string scales = withoutEnd(name, kWeight) + ".SCB";
    result.absmax = part(scales, DType::F32, result.shape[0]);
    return result;
  }

  QuantisedTensor fourBits(const TensorView &state, const std::string &key) const {
    QuantisedTensor result;
    try {
      readState(json::parse(std::string_view(state.data, state.desc.bytes())), result);
    } catch (const json::exception &error) {
      fail("{}: '{}' is damaged: {}", path, key, error.what());
    }
    const int64_t elements = TensorDesc{DType::F32, result.shape}.elements(),
                  blocks = (elements + kQuantizedBlock - 1) / kQuantizedBlock;
    result.codes = part(name, DType::U8, (elements + 1) / 2);
    checkMap(".quant_map", fourBitTable(result.format));
    result.absmax = part(name + ".absmax", result.doubled ? DType::U8 : DType::F32, blocks);
    if (!result.doubled)
      return result;
    checkMap(".nested_quant_map", dynamicMap(true));
    result.nestedAbsmax =
        part(name + ".nested_absmax", DType::F32, (blocks + kNestedBlock - 1) / kNestedBlock);
    return result;
  }

private:
  void readState(const json &state, QuantisedTensor &result) const {
    const std::string type = state.at("quant_type");
    if (type != "nf4" && type != "fp4")
      fail("{}: '{}' is of the type {}; expected nf4 or fp4", path, name, type);
    result.format = type == "nf4" ? QuantizedFormat::NF4 : QuantizedFormat::FP4;
    expectBlock("blocksize", state.at("blocksize"), kQuantizedBlock);
    result.shape = state.at("shape").get<std::vector<int64_t>>();
    if (!TensorDesc{DType::F32, result.shape}.elements())
      fail("{}: '{}' has no elements", path, name);
    result.doubled = state.contains("nested_blocksize");
    if (!result.doubled)
      return;
    expectBlock("nested_blocksize", state["nested_blocksize"], kNestedBlock);
    result.offset = state.at("nested_offset");
  }

  void expectBlock(const char *key, int64_t found, int64_t expected) const {
    if (found != expected)
      fail("{}: '{}' has a {} of {}, expected {}: quantise it again with that", path, name, key, found,
           expected);
  }

  const TensorView *part(const std::string &key, DType type, int64_t elements) const {
    const TensorView *view = file.find(key);
    if (!view)
      fail("{}: '{}' is quantised by bitsandbytes, and '{}', which belongs to it, is missing", path, name,
           key);
    if (view->desc.type != type || view->desc.elements() != elements)
      fail("{}: '{}' is {}{}, expected {} elements of {}", path, key, dtypeName(view->desc.type),
           shapeText(view->desc.shape), elements, dtypeName(type));
    return view;
  }

  template <size_t N> void checkMap(const char *end, const std::array<float, N> &expected) const {
    const TensorView *view = part(name + end, DType::F32, N);
    for (size_t k = 0; k < N; ++k) {
      float value;
      std::memcpy(&value, view->data + k * sizeof(float), sizeof(float));
      if (!(std::abs(value - expected[k]) <= 1e-6f))
        fail("{}: '{}{}' has {} for the code {}, expected {}: a table that Kedge does not have", path, name,
             end, value, k, expected[k]);
    }
  }

  const TensorFile &file;
  const std::string &path, &name;
};

} // namespace

std::optional<QuantisedTensor> QuantisedTensor::find(const TensorFile &file, const std::string &path,
                                                     const std::string &name) {
  std::string key;
  if (const TensorView *state = stateOf(file, name, key))
    return Keys(file, path, name).fourBits(*state, key);
  if (isCodes8(file, name))
    return Keys(file, path, name).eightBits();
  return std::nullopt;
}

bool QuantisedTensor::hasKey(const TensorFile &file, const std::string &name) {
  std::string ignored;
  for (const char *part : kParts)
    if (name.ends_with(part) && stateOf(file, withoutEnd(name, part), ignored))
      return true;
  for (const char *part : {".SCB", ".weight_format"})
    if (name.ends_with(part) && isCodes8(file, withoutEnd(name, part) + std::string(kWeight)))
      return true;
  return stateOf(file, name, ignored) || isCodes8(file, name);
}

} // namespace kedge::rt
