#include "runtime/program/NumberFlags.h"
#include "runtime/io/Error.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

namespace kedge::rt {
namespace {

constexpr double kAny = 0x1p63; // a whole number that fits 64 bits
constexpr double kSteps = 1e12; // more than a run ever does; sums of them stay whole

constexpr NumberRange kRanges[] = {
    // Steps, and what happens every so many.
    {"--steps", true, 0, kSteps},
    {"--epochs", true, 1, 1e9},
    {"--find-lr", true, 10, 1e6},
    {"--warmup", true, 0, kSteps},
    {"--decay-steps", true, 0, kSteps},
    {"--eval-every", true, 1, kSteps},
    {"--checkpoint-every", true, 1, kSteps},
    {"--dump-step", true, 0, kSteps},
    {"--inject-gradient", true, 0, kSteps},
    {"--keep", true, 1, 1e6},
    {"--stop-after", true, 1, 1e9},
    // The optimizer.
    {"--lr", false, 0, 1e38},
    {"--min-lr", false, 0, 1e12},
    {"--warmup-start", false, 0, 1},
    {"--weight-decay", false, 0, 1e12},
    {"--betas", false, 0, 1, RangeEnds::Below},
    {"--eps", false, 0, 1e12},
    {"--dpo-beta", false, 0, 1e6, RangeEnds::Above},
    {"--loss-scale", false, 0, 1e38, RangeEnds::Above, "dynamic"},
    {"--loss-scale-hysteresis", true, 1, kSteps},
    // Random numbers and initial values.
    {"--seed", true, -kAny, kAny},
    {"--shuffle", true, -kAny, kAny},
    {"--init", false, 0, 1e12},
    // Samples.
    {"--sample-tokens", true, 1, 1e9},
    {"--temperature", false, 0, 1e6},
    {"--top-k", true, 0, 1e9},
    // Comparisons.
    {"--tolerance", false, 0, 1e12},
    // Machines.
    {"--threads", true, 1, 4096},
    {"--comm-timeout", false, 0, 1e9, RangeEnds::Above},
};

constexpr const char *kScalarFlags[] = {"--lr",           "--min-lr",      "--schedule",     "--warmup",
                                        "--warmup-start", "--decay-steps", "--weight-decay", "--betas",
                                        "--eps",          "--dpo-beta"};

const char *const kRange = "range"; // the check's name

bool hasRange(CLI::Option &option) {
  try {
    return option.get_validator(kRange) != nullptr;
  } catch (const CLI::OptionNotFound &) {
    return false;
  }
}

bool isAbove(const NumberRange &range) { return range.ends == RangeEnds::Above; }
bool isBelow(const NumberRange &range) { return range.ends == RangeEnds::Below; }

std::string numberText(double value) {
  return std::abs(value) < 1e7 ? fmt::format("{}", value) : fmt::format("{:g}", value);
}

bool isWhole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

std::optional<double> decimalIn(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::span<const char *const> scalarFlags() { return kScalarFlags; }

const NumberRange *rangeOf(std::string_view flag) {
  for (const NumberRange &range : kRanges)
    if (flag == range.flag)
      return &range;
  return nullptr;
}

std::string rangeText(const NumberRange &range) {
  const char *kind = range.whole ? "a whole number" : "a number";
  const std::string also = range.also ? fmt::format(", or {}", range.also) : "";
  if (range.high == kAny)
    return fmt::format("{} from -2^63 to 2^63 - 1", kind);
  if (isAbove(range))
    return fmt::format("{} above {}, at most {}{}", kind, numberText(range.low), numberText(range.high),
                       also);
  return fmt::format("{} from {}{} {}{}", kind, numberText(range.low), isBelow(range) ? ", below" : " to",
                     numberText(range.high), also);
}

bool isWithin(const NumberRange &range, double value) {
  return (isAbove(range) ? value > range.low : value >= range.low) &&
         (isBelow(range) ? value < range.high : value <= range.high);
}

std::string outOfRange(const NumberRange &range, std::string_view text) {
  if (range.also && text == range.also)
    return "";
  const std::optional<double> value = decimalIn(text);
  const bool inside = value && isWithin(range, *value);
  if (inside && (!range.whole || isWhole(text)))
    return "";
  return fmt::format("expected {}, found '{}'", rangeText(range), text);
}

CLI::Option *checkNumber(CLI::Option *option, const NumberRange &range) {
  return option->check([range](const std::string &text) { return outOfRange(range, text); }, "", kRange);
}

void checkNumbers(CLI::App &app) {
  for (CLI::Option *option : app.get_options()) {
    const std::string name = option->get_name(), type = option->get_type_name();
    if (type.find("INT") == std::string::npos && type.find("FLOAT") == std::string::npos)
      continue; // a text with a number in it: who takes it apart asks outOfRange
    if (hasRange(*option))
      continue;
    const NumberRange *range = rangeOf(name);
    if (!range)
      fail("{} takes numbers and has no range: the table in NumberFlags.cpp lacks a row", name);
    checkNumber(option, *range);
  }
}

} // namespace kedge::rt
