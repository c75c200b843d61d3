// Filters and tests of chat templates, as Jinja has them.
#include "driver/chat/TemplateParser.h"
#include "driver/chat/TemplateRun.h"
#include "driver/chat/TemplateText.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <array>
#include <cstdlib>

namespace kedge::driver {
namespace {

using Kind = TemplateValue::Kind;
using Values = std::vector<TemplateValue>;

constexpr std::array<std::string_view, 29> kFilters = {
    "trim",    "tojson",  "length",     "count",      "upper",  "lower",  "capitalize", "title",
    "replace", "join",    "items",      "dictsort",   "first",  "last",   "default",    "d",
    "string",  "map",     "selectattr", "rejectattr", "select", "reject", "list",       "safe",
    "int",     "reverse", "unique",     "indent",     "abs"};
constexpr std::array<std::string_view, 20> kTests = {
    "defined", "undefined", "none",  "string",      "mapping", "iterable", "sequence",
    "number",  "integer",   "float", "boolean",     "true",    "false",    "odd",
    "even",    "equalto",   "==",    "divisibleby", "in",      "eq"};

template <typename List> bool holds(const List &list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// A text as it is; other values as they are printed.
std::string textOf(const TemplateValue &value) { return value.str(); }

const TemplateValue &needed(const TemplateCall &call, size_t place, std::string_view name) {
  const TemplateValue *found = call.find(place, name);
  if (!found)
    fail("the argument '{}' is missing", name);
  return *found;
}

int64_t wholeOr(const TemplateValue *value, int64_t otherwise) {
  if (!value || value->is(Kind::None))
    return otherwise;
  if (!value->isWhole())
    fail("expected a whole number, found {}", value->typeName());
  return value->integer();
}

int64_t lengthOf(const TemplateValue &value) {
  switch (value.kind()) {
  case Kind::Text:
    return static_cast<int64_t>(characters(value.text()).size());
  case Kind::List:
    return static_cast<int64_t>(value.list().size());
  case Kind::Map:
    return static_cast<int64_t>(value.map().size());
  case Kind::Undefined:
    return 0;
  default:
    fail("the length of {}", value.typeName());
  }
}

TemplateValue pairsOf(const TemplateValue &value, bool sorted) {
  if (value.is(Kind::Undefined))
    return TemplateValue(Values());
  if (!value.is(Kind::Map))
    fail("expected a dict, found {}", value.typeName());
  TemplateValue::Map entries = value.map();
  if (sorted)
    std::stable_sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
      return inCase(a.first, TextCase::Lower) < inCase(b.first, TextCase::Lower);
    });
  Values pairs;
  for (auto &[key, one] : entries)
    pairs.emplace_back(Values{TemplateValue(key), one});
  return TemplateValue(std::move(pairs));
}

/// `a.b` of a value, as filters name attributes.
TemplateValue attributeOf(TemplateValue value, const std::string &path) {
  for (const std::string &name : split(path, ".", -1))
    value = templateItem(value, TemplateValue(name));
  return value;
}

TemplateValue joined(const TemplateValue &value, const TemplateCall &call) {
  const TemplateValue *separator = call.find(0, "d"), *attribute = call.find(1, "attribute");
  std::string result;
  bool first = true;
  for (const TemplateValue &one : templateElements(value)) {
    result += first || !separator ? "" : textOf(*separator);
    result += textOf(attribute ? attributeOf(one, textOf(*attribute)) : one);
    first = false;
  }
  return TemplateValue(std::move(result));
}

/// The rest of a call, whose first arguments were used.
TemplateCall behind(const TemplateCall &call, size_t used) {
  return {{call.plain.begin() + static_cast<ptrdiff_t>(std::min(used, call.plain.size())), call.plain.end()},
          call.named};
}

TemplateValue mapped(const TemplateRun &run, const TemplateValue &value, const TemplateCall &call) {
  const TemplateValue *attribute = call.plain.empty() ? call.find(0, "attribute") : nullptr;
  const TemplateValue *otherwise = attribute ? call.find(1, "default") : nullptr;
  Values result;
  for (const TemplateValue &one : templateElements(value)) {
    if (!attribute) {
      result.push_back(run.filter(textOf(needed(call, 0, "filter")), one, behind(call, 1)));
      continue;
    }
    TemplateValue found = attributeOf(one, textOf(*attribute));
    result.push_back(found.is(Kind::Undefined) && otherwise ? *otherwise : std::move(found));
  }
  return TemplateValue(std::move(result));
}

/// select, reject, and the same of an attribute.
TemplateValue selected(const TemplateRun &run, const std::string &name, const TemplateValue &value,
                       const TemplateCall &call) {
  const size_t used = name.ends_with("attr") ? 1 : 0;
  const bool wanted = name.starts_with("select");
  Values result;
  for (const TemplateValue &one : templateElements(value)) {
    const TemplateValue asked = used ? attributeOf(one, textOf(needed(call, 0, "attribute"))) : one;
    const bool found = call.plain.size() > used
                           ? run.test(textOf(call.plain[used]), asked, behind(call, used + 1))
                           : asked.isTrue();
    if (found == wanted)
      result.push_back(one);
  }
  return TemplateValue(std::move(result));
}

TemplateValue unique(const TemplateValue &value) {
  Values result;
  const auto key = [](const TemplateValue &one) {
    return one.is(Kind::Text) ? TemplateValue(inCase(one.text(), TextCase::Lower)) : one;
  };
  for (const TemplateValue &one : templateElements(value))
    if (std::none_of(result.begin(), result.end(),
                     [&](const TemplateValue &known) { return TemplateValue::equal(key(known), key(one)); }))
      result.push_back(one);
  return TemplateValue(std::move(result));
}

TemplateValue reversed(const TemplateValue &value) {
  return templateSlice(value.is(Kind::Map) ? TemplateValue(templateElements(value)) : value, std::nullopt,
                       std::nullopt, -1);
}

TemplateValue indented(const TemplateValue &value, const TemplateCall &call) {
  const std::string space(static_cast<size_t>(std::max<int64_t>(0, wholeOr(call.find(0, "width"), 4))), ' ');
  const TemplateValue *first = call.find(1, "first"), *blank = call.find(2, "blank");
  std::string result;
  bool begins = true;
  const std::string text = textOf(value) + "\n"; // as Jinja: a last line end is none
  for (const std::string &line : splitLines(text)) {
    const bool moves = begins ? first && first->isTrue() : !line.empty() || (blank && blank->isTrue());
    result += (begins ? "" : "\n") + (moves ? space : "") + line;
    begins = false;
  }
  return TemplateValue(std::move(result));
}

TemplateValue jsonOf(const TemplateValue &value, const TemplateCall &call) {
  for (const auto &[name, given] : call.named)
    if (name != "indent" && !(name == "ensure_ascii" && !given.isTrue()))
      fail("tojson with '{}' is not available yet", name);
  if (call.plain.size() > 1) // transformers: ensure_ascii, indent, ...
    fail("tojson with {} arguments is not available yet", call.plain.size());
  if (!call.plain.empty() && call.plain[0].isTrue())
    fail("tojson with ensure_ascii is not available yet");
  return TemplateValue(value.json(static_cast<int>(wholeOr(call.find(9, "indent"), -1))));
}

TemplateValue wholeOf(const TemplateValue &value, const TemplateCall &call) {
  if (value.isNumber())
    return TemplateValue(value.is(Kind::Real) ? static_cast<int64_t>(value.real()) : value.integer());
  const std::string text = stripped(textOf(value), TextSide::Both, std::nullopt);
  char *end = nullptr;
  const long long found = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0')
    return TemplateValue(wholeOr(call.find(0, "default"), 0));
  return TemplateValue(static_cast<int64_t>(found));
}

TemplateValue cased(const std::string &name, const TemplateValue &value) {
  return TemplateValue(inCase(textOf(value), name == "upper"        ? TextCase::Upper
                                             : name == "lower"      ? TextCase::Lower
                                             : name == "capitalize" ? TextCase::Capitalized
                                                                    : TextCase::Title));
}

/// Of an undefined or empty value where it has none.
TemplateValue endOf(const std::string &name, const TemplateValue &value) {
  const Values all = templateElements(value);
  return all.empty() ? TemplateValue() : name == "first" ? all.front() : all.back();
}

} // namespace

bool isTemplateFilter(std::string_view name) { return holds(kFilters, name); }
bool isTemplateTest(std::string_view name) { return holds(kTests, name); }

TemplateValue TemplateRun::filter(const std::string &name, const TemplateValue &value,
                                  const TemplateCall &call) const {
  if (!isTemplateFilter(name))
    fail("the filter '{}' is not available yet", name);
  if (name == "trim") {
    const TemplateValue *drop = call.find(0, "chars");
    return TemplateValue(
        stripped(textOf(value), TextSide::Both,
                 drop && !drop->is(Kind::None) ? std::optional(textOf(*drop)) : std::nullopt));
  }
  if (name == "tojson")
    return jsonOf(value, call);
  if (name == "length" || name == "count")
    return TemplateValue(lengthOf(value));
  if (name == "upper" || name == "lower" || name == "capitalize" || name == "title")
    return cased(name, value);
  if (name == "replace")
    return TemplateValue(replaced(textOf(value), textOf(needed(call, 0, "old")),
                                  textOf(needed(call, 1, "new")), wholeOr(call.find(2, "count"), -1)));
  if (name == "join")
    return joined(value, call);
  if (name == "items" || name == "dictsort")
    return pairsOf(value, name == "dictsort");
  if (name == "first" || name == "last")
    return endOf(name, value);
  if (name == "default" || name == "d") {
    const TemplateValue *otherwise = call.find(0, "default_value"), *asks = call.find(1, "boolean");
    const bool stays = asks && asks->isTrue() ? value.isTrue() : !value.is(Kind::Undefined);
    return stays ? value : otherwise ? *otherwise : TemplateValue(std::string());
  }
  if (name == "string")
    return TemplateValue(textOf(value));
  if (name == "map")
    return mapped(*this, value, call);
  if (name.starts_with("select") || name.starts_with("reject"))
    return selected(*this, name, value, call);
  if (name == "list")
    return TemplateValue(templateElements(value));
  if (name == "int")
    return wholeOf(value, call);
  if (name == "reverse")
    return reversed(value);
  if (name == "unique")
    return unique(value);
  if (name == "indent")
    return indented(value, call);
  if (name == "abs") {
    if (!value.isNumber())
      fail("abs of {}", value.typeName());
    return value.is(Kind::Real) ? TemplateValue(std::abs(value.real()))
                                : TemplateValue(std::abs(value.integer()));
  }
  return value; // safe: nothing is escaped
}

bool TemplateRun::test(const std::string &name, const TemplateValue &value, const TemplateCall &call) const {
  if (!isTemplateTest(name))
    fail("the test '{}' is not available yet", name);
  const Kind kind = value.kind();
  if (name == "defined" || name == "undefined")
    return (kind == Kind::Undefined) == (name == "undefined");
  if (name == "none")
    return kind == Kind::None;
  if (name == "string")
    return kind == Kind::Text;
  if (name == "mapping")
    return kind == Kind::Map;
  if (name == "iterable")
    return kind == Kind::Text || kind == Kind::List || kind == Kind::Map || kind == Kind::Undefined;
  if (name == "sequence")
    return kind == Kind::Text || kind == Kind::List || kind == Kind::Map || kind == Kind::Undefined;
  if (name == "number")
    return value.isNumber();
  if (name == "integer")
    return kind == Kind::Integer;
  if (name == "float")
    return kind == Kind::Real;
  if (name == "boolean")
    return kind == Kind::Bool;
  if (name == "true" || name == "false")
    return kind == Kind::Bool && value.isTrue() == (name == "true");
  if (name == "in")
    return templateContains(needed(call, 0, "seq"), value);
  if (name == "equalto" || name == "==" || name == "eq")
    return TemplateValue::equal(value, needed(call, 0, "other"));
  const int64_t by = name == "divisibleby" ? wholeOr(&needed(call, 0, "num"), 1) : 2;
  if (!value.isWhole() || by == 0)
    fail("'{}' of {}", name, value.typeName());
  return (value.integer() % by == 0) != (name == "odd");
}

} // namespace kedge::driver
