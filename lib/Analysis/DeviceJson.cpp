#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace kedge::analysis {
namespace {

/// The one key that a file may lack: without it the device has one link for any number of ranks.
constexpr const char *kLinks = "links";

enum class Range { Positive, NotNegative, Share };

struct Field {
  const char *key;
  double DeviceModel::*value;
  Range range;
  double DeviceModel::*orElse = nullptr; ///< of files that are older than the key; itself: as without a file
};

const Field kFields[] = {
    {"vector_flops", &DeviceModel::vectorFlops, Range::Positive},
    {"irregular_flops", &DeviceModel::irregularFlops, Range::Positive},
    {"fp64_flops", &DeviceModel::fp64Flops, Range::Positive},
    {"fp32_flops", &DeviceModel::fp32Flops, Range::Positive},
    {"tf32_flops", &DeviceModel::tf32Flops, Range::Positive},
    {"bf16_flops", &DeviceModel::bf16Flops, Range::Positive},
    {"fp16_flops", &DeviceModel::fp16Flops, Range::Positive},
    {"special_functions_per_second", &DeviceModel::specialFunctions, Range::Positive},
    {"bytes_per_second", &DeviceModel::bytesPerSecond, Range::Positive},
    {"host_bytes_per_second", &DeviceModel::hostBytesPerSecond, Range::Positive},
    {"disk_bytes_per_second", &DeviceModel::diskBytesPerSecond, Range::Positive,
     &DeviceModel::diskBytesPerSecond},
    {"link_bytes_per_second", &DeviceModel::linkBytesPerSecond, Range::Positive},
    {"link_seconds", &DeviceModel::linkSeconds, Range::NotNegative},
    {"link_efficiency", &DeviceModel::linkEfficiency, Range::Share},
    {"cache_bytes", &DeviceModel::cacheBytes, Range::NotNegative},
    {"cache_bytes_per_second", &DeviceModel::cacheBytesPerSecond, Range::Positive},
    {"launch_seconds", &DeviceModel::launchSeconds, Range::NotNegative},
    {"team", &DeviceModel::team, Range::Positive},
    {"team_seconds", &DeviceModel::teamSeconds, Range::NotNegative},
    {"matmul_efficiency", &DeviceModel::matmulEfficiency, Range::Share},
    {"convolution_efficiency", &DeviceModel::convolutionEfficiency, Range::Share},
    {"attention_efficiency", &DeviceModel::attentionEfficiency, Range::Share},
    {"narrow_attention_efficiency", &DeviceModel::narrowAttentionEfficiency, Range::Share,
     &DeviceModel::attentionEfficiency},
    {"memory_efficiency", &DeviceModel::memoryEfficiency, Range::Share},
    {"update_weight", &DeviceModel::updateWeight, Range::NotNegative},
    {"copy_efficiency", &DeviceModel::copyEfficiency, Range::Share},
    {"half_rate_flops", &DeviceModel::halfRateFlops, Range::NotNegative},
    {"attention_half_keys", &DeviceModel::attentionHalfKeys, Range::NotNegative},
    {"convolution_half_channels", &DeviceModel::convolutionHalfChannels, Range::NotNegative},
};

const nlohmann::json &fieldOf(const nlohmann::json &json, const char *key, const std::string &where) {
  auto found = json.find(key);
  if (found == json.end())
    fail("{}: key '{}' is missing (docs/guide/devices.md lists all)", where, key);
  return *found;
}

double numberOf(const nlohmann::json &json, const Field &field, const std::string &where) {
  const nlohmann::json &value = fieldOf(json, field.key, where);
  double number = value.is_number() ? value.get<double>() : std::nan("");
  bool good = std::isfinite(number) && number >= 0 && (field.range == Range::NotNegative || number > 0) &&
              (field.range != Range::Share || number <= 1);
  const char *expected = field.range == Range::Share      ? "a number above 0, at most 1"
                         : field.range == Range::Positive ? "a number above 0"
                                                          : "a number, 0 or more";
  if (!good)
    fail("{}: '{}' is {}, expected {}", where, field.key, value.dump(), expected);
  return number;
}

bool isKnown(const std::string &key) {
  if (key == "name" || key == "memory_bytes" || key == kLinks)
    return true;
  for (const Field &field : kFields)
    if (key == field.key)
      return true;
  return false;
}

} // namespace

nlohmann::json toJson(const DeviceModel &device) {
  nlohmann::json json = {{"name", device.name}, {"memory_bytes", device.memoryBytes}};
  for (const Field &field : kFields)
    json[field.key] = device.*field.value;
  if (!device.links.empty())
    json[kLinks] = toJson(device.links);
  return json;
}

DeviceModel deviceFromJson(const nlohmann::json &json, const std::string &where) {
  if (!json.is_object())
    fail("{}: expected a JSON object of a device (docs/guide/devices.md), found {}", where, json.type_name());
  for (const auto &[key, value] : json.items())
    if (!isKnown(key))
      fail("{}: unknown key '{}' (docs/guide/devices.md lists all)", where, key);
  DeviceModel device;
  const nlohmann::json &name = fieldOf(json, "name", where), &memory = fieldOf(json, "memory_bytes", where);
  if (!name.is_string())
    fail("{}: 'name' is {}, expected a string", where, name.dump());
  if (!memory.is_number_integer() || memory.get<double>() <= 0 || memory.get<double>() >= 0x1p63)
    fail("{}: 'memory_bytes' is {}, expected a whole number above 0 and below 2^63", where, memory.dump());
  device.name = name;
  if (json.contains(kLinks))
    device.links = linksFromJson(json[kLinks], where + ": links");
  device.memoryBytes = memory.get<int64_t>();
  for (const Field &field : kFields)
    device.*field.value =
        field.orElse && !json.contains(field.key) ? device.*field.orElse : numberOf(json, field, where);
  return device;
}

} // namespace kedge::analysis
