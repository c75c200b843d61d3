#include "driver/chat/TemplateValue.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace kedge::driver {
namespace {

using Kind = TemplateValue::Kind;

/// Python's repr of a float.
std::string realText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[400];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string jsonReal(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value < 0 ? "-Infinity" : "Infinity";
  return realText(value);
}

/// Python's repr of a text; other characters are taken as printable.
std::string quoted(const std::string &text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\')
      result += std::string("\\") + c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + quote;
}

std::string jsonText(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
    case '"':
      result += "\\\"";
      break;
    case '\\':
      result += "\\\\";
      break;
    case '\n':
      result += "\\n";
      break;
    case '\r':
      result += "\\r";
      break;
    case '\t':
      result += "\\t";
      break;
    case '\b':
      result += "\\b";
      break;
    case '\f':
      result += "\\f";
      break;
    default:
      result += byte < 0x20 ? fmt::format("\\u{:04x}", byte) : std::string(1, c);
    }
  }
  return result + '"';
}

/// `parts` between brackets, as json.dumps lays them out.
std::string laidOut(char open, char close, const std::vector<std::string> &parts, int indent, int depth) {
  std::string result(1, open);
  const auto line = [&](int level) {
    return indent < 0 ? std::string()
                      : "\n" + std::string(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
  };
  for (size_t at = 0; at < parts.size(); ++at)
    result += (at == 0 ? "" : indent < 0 ? ", " : ",") + line(depth + 1) + parts[at];
  return result + (parts.empty() ? "" : line(depth)) + close;
}

} // namespace

TemplateValue TemplateValue::none() {
  TemplateValue value;
  value.what = Kind::None;
  return value;
}

TemplateValue TemplateValue::function(std::string name) {
  TemplateValue value(std::move(name));
  value.what = Kind::Function;
  return value;
}

TemplateValue TemplateValue::of(const nlohmann::ordered_json &json) {
  switch (json.type()) {
  case nlohmann::ordered_json::value_t::boolean:
    return TemplateValue(json.get<bool>());
  case nlohmann::ordered_json::value_t::number_integer:
  case nlohmann::ordered_json::value_t::number_unsigned:
    return TemplateValue(json.get<int64_t>());
  case nlohmann::ordered_json::value_t::number_float:
    return TemplateValue(json.get<double>());
  case nlohmann::ordered_json::value_t::string:
    return TemplateValue(json.get<std::string>());
  case nlohmann::ordered_json::value_t::array: {
    List values;
    for (const auto &one : json)
      values.push_back(of(one));
    return TemplateValue(std::move(values));
  }
  case nlohmann::ordered_json::value_t::object: {
    Map values;
    for (const auto &[key, value] : json.items())
      values.emplace_back(key, of(value));
    return TemplateValue(std::move(values));
  }
  default:
    return none();
  }
}

bool TemplateValue::isTrue() const {
  switch (what) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Integer:
    return whole != 0;
  case Kind::Real:
    return number != 0;
  case Kind::Text:
    return !letters.empty();
  case Kind::List:
    return !items->empty();
  case Kind::Map:
    return !entries->empty();
  case Kind::Macro:
  case Kind::Function:
    return true;
  }
  return false;
}

const TemplateValue *TemplateValue::find(std::string_view key) const {
  if (what != Kind::Map)
    return nullptr;
  const auto found =
      std::find_if(entries->begin(), entries->end(), [&](const auto &entry) { return entry.first == key; });
  return found == entries->end() ? nullptr : &found->second;
}

void TemplateValue::set(const std::string &key, TemplateValue value) const {
  const auto found =
      std::find_if(entries->begin(), entries->end(), [&](const auto &entry) { return entry.first == key; });
  if (found == entries->end())
    entries->emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

std::string TemplateValue::typeName() const {
  static constexpr const char *kNames[] = {"undefined", "None", "bool", "int",   "float",
                                           "str",       "list", "dict", "macro", "function"};
  return kNames[static_cast<size_t>(what)];
}

std::string TemplateValue::str() const {
  return what == Kind::Text ? letters : what == Kind::Undefined ? "" : repr();
}

std::string TemplateValue::repr() const {
  std::string result;
  switch (what) {
  case Kind::Undefined:
    return "Undefined";
  case Kind::None:
    return "None";
  case Kind::Bool:
    return whole ? "True" : "False";
  case Kind::Integer:
    return std::to_string(whole);
  case Kind::Real:
    return realText(number);
  case Kind::Text:
    return quoted(letters);
  case Kind::List:
    for (const TemplateValue &one : *items)
      result += (result.empty() ? "" : ", ") + one.repr();
    return "[" + result + "]";
  case Kind::Map:
    for (const auto &[key, value] : *entries)
      result += (result.empty() ? "" : ", ") + quoted(key) + ": " + value.repr();
    return "{" + result + "}";
  case Kind::Macro:
  case Kind::Function:
    break;
  }
  fail("a {} was printed, which has no text", typeName());
}

std::string TemplateValue::json(int indent, int depth) const {
  std::vector<std::string> parts;
  switch (what) {
  case Kind::None:
    return "null";
  case Kind::Bool:
    return whole ? "true" : "false";
  case Kind::Integer:
    return std::to_string(whole);
  case Kind::Real:
    return jsonReal(number);
  case Kind::Text:
    return jsonText(letters);
  case Kind::List:
    for (const TemplateValue &one : *items)
      parts.push_back(one.json(indent, depth + 1));
    return laidOut('[', ']', parts, indent, depth);
  case Kind::Map:
    for (const auto &[key, value] : *entries)
      parts.push_back(jsonText(key) + ": " + value.json(indent, depth + 1));
    return laidOut('{', '}', parts, indent, depth);
  default:
    fail("tojson of {}", typeName());
  }
}

bool TemplateValue::equal(const TemplateValue &a, const TemplateValue &b) {
  if (a.isNumber() && b.isNumber())
    return a.isWhole() && b.isWhole() ? a.whole == b.whole : a.real() == b.real();
  if (a.what != b.what)
    return false;
  switch (a.what) {
  case Kind::Text:
    return a.letters == b.letters;
  case Kind::List:
    return std::equal(a.items->begin(), a.items->end(), b.items->begin(), b.items->end(), equal);
  case Kind::Map:
    return a.entries->size() == b.entries->size() &&
           std::all_of(a.entries->begin(), a.entries->end(), [&](const auto &entry) {
             const TemplateValue *other = b.find(entry.first);
             return other && equal(entry.second, *other);
           });
  case Kind::Macro:
    return a.called == b.called;
  default:
    return true;
  }
}

std::optional<int> TemplateValue::compare(const TemplateValue &a, const TemplateValue &b) {
  const auto sign = [](const auto &x, const auto &y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.isWhole() && b.isWhole())
    return sign(a.whole, b.whole);
  if (a.isNumber() && b.isNumber())
    return sign(a.real(), b.real());
  if (a.is(Kind::Text) && b.is(Kind::Text))
    return sign(a.letters, b.letters); // UTF-8 has the order of code points
  return std::nullopt;
}

} // namespace kedge::driver
