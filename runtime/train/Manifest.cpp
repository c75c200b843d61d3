#include "runtime/train/Manifest.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include "runtime/program/NumberFlags.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {

using nlohmann::ordered_json;

/// Of the last entry: the first level alone is indented by one.
constexpr std::string_view kMark = ",\n \"checksum\": \"", kEnd = "\n}";

std::string sealed(std::string_view open) {
  return fmt::format("{}{}{}\"{}\n", open, kMark, checksumOf(open.data(), open.size()), kEnd);
}

bool isOlder(const ordered_json &format) {
  return format == kUnsealedFormat || format == kUnsealedPartedFormat;
}

ordered_json number(const std::optional<double> &value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> numberIn(const ordered_json &json, const char *key) {
  const ordered_json &value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// Null stands for a number that is not finite.
double amountIn(const ordered_json &json, const char *key, double otherwise) {
  const double value = numberIn(json, key).value_or(otherwise);
  if (value < 0)
    fail("'{}' is {}, expected a number from 0, or null", key, value);
  return value;
}

} // namespace

std::string sealedManifest(const ordered_json &manifest) {
  const std::string text = manifest.dump(1);
  return sealed(std::string_view(text).substr(0, text.size() - kEnd.size()));
}

ordered_json openManifest(std::string_view text) {
  const size_t at = text.rfind(kMark);
  const bool hasSum = at != std::string_view::npos;
  if (hasSum && text != sealed(text.substr(0, at)))
    fail("damaged: its checksum differs");
  ordered_json manifest = ordered_json::parse(text);
  if (!manifest.is_object())
    fail("it contains no object");
  const ordered_json &format = manifest.at("format");
  if (format != kCheckpointFormat && format != kPartedFormat && format != kBoxedFormat &&
      format != kStagedFormat && !isOlder(format))
    fail("checkpoint format {}, this program reads formats {} to {}",
         format.is_structured() ? format.type_name() : format.dump(), kUnsealedFormat, kStagedFormat);
  if (!hasSum && !isOlder(format))
    fail("damaged: it has no checksum");
  return manifest;
}

/// A manifest is read as its writer meant it: 1.5 is no number of steps, and neither is -1.
int64_t countIn(const ordered_json &json, const char *key) {
  constexpr int64_t kMost = int64_t(1) << 53;
  const ordered_json &value = json.at(key);
  const bool whole = value.is_number_unsigned() ? value.get<uint64_t>() <= kMost
                                                : value.is_number_integer() && value.get<int64_t>() >= 0;
  if (!whole) // what is nested may be deep
    fail("'{}' is {}, expected a whole number from 0 to 2^53", key,
         value.is_structured() ? value.type_name() : value.dump());
  return value.get<int64_t>();
}

void checkRange(const char *key, double value, const char *name) {
  std::string flag = std::string("--") + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  const NumberRange *range = rangeOf(flag);
  if (!range)
    fail("{} has no range: the table in NumberFlags.cpp lacks a row", flag);
  if (!isWithin(*range, value))
    fail("'{}' is {}, expected {}", name ? name : key, value, rangeText(*range));
}

ordered_json lineJson(const LogLine &line) {
  ordered_json json;
  json["loss"] = number(line.loss);
  json["lr"] = number(line.lr);
  json["grad_norm"] = number(line.gradNorm);
  for (size_t kind = 0; kind < line.stepMetrics.size(); ++kind)
    if (line.stepMetrics[kind])
      json[std::string(abi::kStepMetrics[kind])] = number(line.stepMetrics[kind]);
  for (size_t term = 0; term < line.lossTerms.count(); ++term)
    json["losses"][(*line.lossTerms.names)[term]] = number(line.lossTerms.values[term]);
  json["loss_scale"] = number(line.lossScale);
  json["skipped"] = line.skipped;
  json["growth_counter"] = line.growthCounter;
  json["optimizer_steps"] = line.optimizerSteps;
  json["seconds"] = number(line.seconds);
  json[line.countsTokens ? "tokens_per_second" : "samples_per_second"] = number(line.perSecond);
  if (line.length) {
    json["length"] = *line.length;
    json["padding"] = number(line.padding);
  }
  json["memory_bytes"] = line.memoryBytes;
  return json;
}

static LossTerms termsIn(const ordered_json &json) {
  if (!json.is_object() || json.size() > abi::kMostLosses)
    fail("'losses' is no object of at most {} numbers", abi::kMostLosses);
  LossTerms terms;
  std::vector<std::string> names;
  for (const auto &[name, value] : json.items()) {
    terms.values[names.size()] = numberIn(json, name.c_str()).value_or(std::nan(""));
    names.push_back(name);
  }
  terms.names = std::make_shared<const std::vector<std::string>>(std::move(names));
  return terms;
}

LogLine lineIn(const ordered_json &json, int64_t step) {
  LogLine line;
  line.step = step;
  line.loss = numberIn(json, "loss").value_or(std::nan(""));
  line.lr = numberIn(json, "lr");
  if (line.lr)
    checkRange("lr", *line.lr);
  line.gradNorm = numberIn(json, "grad_norm");
  if (line.gradNorm)
    amountIn(json, "grad_norm", 0);
  for (size_t kind = 0; kind < line.stepMetrics.size(); ++kind)
    if (const std::string name(abi::kStepMetrics[kind]); json.contains(name))
      line.stepMetrics[kind] = numberIn(json, name.c_str()).value_or(std::nan(""));
  if (const auto found = json.find("losses"); found != json.end())
    line.lossTerms = termsIn(*found);
  line.lossScale = numberIn(json, "loss_scale").value_or(std::nan(""));
  if (!std::isnan(line.lossScale))
    checkRange("loss_scale", line.lossScale);
  line.skipped = json.at("skipped");
  line.growthCounter = countIn(json, "growth_counter");
  line.optimizerSteps = countIn(json, "optimizer_steps");
  line.seconds = amountIn(json, "seconds", 0);
  line.countsTokens = json.contains("tokens_per_second");
  line.perSecond = amountIn(json, line.countsTokens ? "tokens_per_second" : "samples_per_second", 0);
  if (json.contains("length")) {
    line.length = countIn(json, "length");
    line.padding = numberIn(json, "padding");
  }
  line.memoryBytes = static_cast<uint64_t>(countIn(json, "memory_bytes"));
  return line;
}

} // namespace kedge::rt
