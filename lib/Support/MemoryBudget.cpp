#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Error.h"
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace kedge {
namespace {

[[noreturn]] void refuse(const std::string &text, const std::string &why) {
  fail("'{}': {}; expected bytes (17179869184, 16GiB), a share of the unconstrained peak (80%), "
       "activations=50% or device",
       text, why);
}

/// The number at the front of `text`; what follows goes to `rest`.
double number(const std::string &text, const std::string &whole, std::string &rest) {
  const char *begin = text.c_str() + (text.rfind('+', 0) == 0 ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text.c_str() + text.size(), value);
  bool plain = text.find_first_not_of("+-.0123456789") != 0 && end != begin && error == std::errc();
  if (!plain || !std::isfinite(value))
    refuse(whole, "not a number");
  if (value <= 0)
    refuse(whole, "not above 0");
  rest = end;
  return value;
}

double unitOf(const std::string &name, const std::string &whole) {
  static constexpr std::pair<const char *, double> units[] = {
      {"", 1},         {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  for (auto [unit, bytes] : units)
    if (name == unit)
      return bytes;
  refuse(whole, "'" + name + "' is no unit of bytes");
}

} // namespace

MemoryBudget MemoryBudget::parse(const std::string &text) {
  static const std::string activations = "activations=";
  if (text.empty())
    return {};
  if (text == "device")
    return {Kind::Device, 0, 0};
  bool ofActivations = text.rfind(activations, 0) == 0;
  std::string rest, amount = ofActivations ? text.substr(activations.size()) : text;
  double value = number(amount, text, rest);
  if (ofActivations || rest == "%") {
    if (rest != "%")
      refuse(text, "expected a percentage after activations=");
    return {ofActivations ? Kind::ActivationShare : Kind::PeakShare, 0, value};
  }
  double bytes = value * unitOf(rest, text);
  if (bytes >= 0x1p63)
    refuse(text, "2^63 bytes or more");
  if (bytes < 1)
    refuse(text, "less than a byte");
  // Whole numbers of bytes beyond 2^53 keep every digit.
  if (amount.find_first_not_of("0123456789") == std::string::npos)
    return {Kind::Bytes, static_cast<int64_t>(std::strtoull(amount.c_str(), nullptr, 10)), 0};
  return {Kind::Bytes, static_cast<int64_t>(bytes), 0};
}

std::string MemoryBudget::text() const {
  switch (kind) {
  case Kind::None:
    break;
  case Kind::Bytes:
    return std::to_string(bytes);
  case Kind::PeakShare:
    return fmt::format("{}%", percent);
  case Kind::ActivationShare:
    return fmt::format("activations={}%", percent);
  case Kind::Device:
    return "device";
  }
  return "";
}

int64_t parseBytes(const std::string &text) {
  const MemoryBudget given = MemoryBudget::parse(text);
  if (given.kind != MemoryBudget::Kind::Bytes)
    fail("'{}': expected bytes (17179869184, 16GiB)", text);
  return given.bytes;
}

std::string formatBytes(int64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

} // namespace kedge
