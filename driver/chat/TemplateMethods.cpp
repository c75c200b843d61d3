// Methods and functions of chat templates, and what Python does with elements.
#include "driver/chat/TemplateParser.h"
#include "driver/chat/TemplateRun.h"
#include "driver/chat/TemplateText.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <array>
#include <ctime>

namespace kedge::driver {
namespace {

using Kind = TemplateValue::Kind;
using Values = std::vector<TemplateValue>;

constexpr int64_t kLongestRange = 1 << 20;

std::string textAt(const TemplateCall &call, size_t place) {
  if (place >= call.plain.size() || !call.plain[place].is(Kind::Text))
    fail("expected a text as argument {}", place + 1);
  return call.plain[place].text();
}

int64_t wholeAt(const TemplateCall &call, size_t place, std::string_view name, int64_t otherwise) {
  const TemplateValue *found = call.find(place, name);
  if (found && !found->isWhole())
    fail("expected a whole number as argument {}, found {}", place + 1, found->typeName());
  return found ? found->integer() : otherwise;
}

std::optional<std::string> textIn(const TemplateCall &call, size_t place, std::string_view name) {
  const TemplateValue *found = call.find(place, name);
  if (!found || found->is(Kind::None))
    return std::nullopt;
  if (!found->is(Kind::Text))
    fail("expected a text as argument {}, found {}", place + 1, found->typeName());
  return found->text();
}

TemplateValue listOf(std::vector<std::string> texts) {
  Values values;
  for (std::string &text : texts)
    values.emplace_back(std::move(text));
  return TemplateValue(std::move(values));
}

/// One text, or one of a list of texts.
bool anyOf(const TemplateCall &call, auto &&holds) {
  if (call.plain.size() != 1)
    fail("expected one argument, found {}", call.plain.size());
  if (!call.plain[0].is(Kind::List))
    return holds(textAt(call, 0));
  return std::any_of(call.plain[0].list().begin(), call.plain[0].list().end(),
                     [&](const TemplateValue &one) { return holds(one.str()); });
}

TemplateValue textMethod(const std::string &name, const std::string &text, const TemplateCall &call) {
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return TemplateValue(stripped(text,
                                  name == "strip"    ? TextSide::Both
                                  : name == "lstrip" ? TextSide::Left
                                                     : TextSide::Right,
                                  textIn(call, 0, "chars")));
  if (name == "split")
    return listOf(split(text, textIn(call, 0, "sep"), wholeAt(call, 1, "maxsplit", -1)));
  if (name == "splitlines" && call.plain.empty() && call.named.empty())
    return listOf(splitLines(text));
  if (name == "startswith")
    return TemplateValue(anyOf(call, [&](const std::string &part) { return text.starts_with(part); }));
  if (name == "endswith")
    return TemplateValue(anyOf(call, [&](const std::string &part) { return text.ends_with(part); }));
  if (name == "replace")
    return TemplateValue(replaced(text, textAt(call, 0), textAt(call, 1), wholeAt(call, 2, "count", -1)));
  if (name == "upper")
    return TemplateValue(inCase(text, TextCase::Upper));
  if (name == "lower")
    return TemplateValue(inCase(text, TextCase::Lower));
  if (name == "capitalize")
    return TemplateValue(inCase(text, TextCase::Capitalized));
  if (name == "title")
    return TemplateValue(inCase(text, TextCase::Title));
  if (name == "find" && call.plain.size() == 1) {
    const size_t found = text.find(textAt(call, 0));
    return TemplateValue(
        found == std::string::npos
            ? int64_t{-1}
            : static_cast<int64_t>(characters(std::string_view(text).substr(0, found)).size()));
  }
  if (name == "count" && call.plain.size() == 1)
    return TemplateValue(static_cast<int64_t>(split(text, textAt(call, 0), -1).size()) - 1);
  if (name == "join" && call.plain.size() == 1) {
    std::string result;
    for (bool first = true; const TemplateValue &one : templateElements(call.plain[0])) {
      result += (first ? "" : text) + one.str();
      first = false;
    }
    return TemplateValue(std::move(result));
  }
  fail("the method '{}' of a text is not available yet", name);
}

TemplateValue mapMethod(const std::string &name, const TemplateValue &value, const TemplateCall &call) {
  if (name == "get") {
    const TemplateValue *found = value.find(textAt(call, 0)), *otherwise = call.find(1, "default");
    return found ? *found : otherwise ? *otherwise : TemplateValue::none();
  }
  Values result;
  for (const auto &[key, one] : value.map())
    if (name == "items")
      result.emplace_back(Values{TemplateValue(key), one});
    else if (name == "keys")
      result.emplace_back(key);
    else if (name == "values")
      result.push_back(one);
    else
      fail("the method '{}' of a dict is not available yet", name);
  return TemplateValue(std::move(result));
}

TemplateValue rangeOf(const TemplateCall &call) {
  const bool one = call.plain.size() == 1;
  const int64_t first = one ? 0 : wholeAt(call, 0, "", 0), end = wholeAt(call, one ? 0 : 1, "", 0),
                step = wholeAt(call, 2, "", 1);
  if (call.plain.empty() || step == 0)
    fail("range: expected one to three numbers, and a step other than 0");
  Values numbers;
  for (int64_t at = first; step > 0 ? at < end : at > end; at += step) {
    if (static_cast<int64_t>(numbers.size()) == kLongestRange)
      fail("range: more than {} numbers", kLongestRange);
    numbers.emplace_back(at);
  }
  return TemplateValue(std::move(numbers));
}

std::string timeNow(const std::string &format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char buffer[512];
  return {buffer, std::strftime(buffer, sizeof(buffer), format.c_str(), &parts)};
}

} // namespace

TemplateValue templateMethod(const std::string &name, const TemplateValue &value, const TemplateCall &call) {
  if (value.is(Kind::Text))
    return textMethod(name, value.text(), call);
  if (value.is(Kind::Map))
    return mapMethod(name, value, call);
  fail("the method '{}' of {} is not available yet", name, value.typeName());
}

TemplateValue templateFunction(const std::string &name, const TemplateCall &call) {
  if (name == "raise_exception")
    fail("the template refuses the conversation: {}", call.plain.empty() ? "" : call.plain[0].str());
  if (name == "range")
    return rangeOf(call);
  if (name == "strftime_now")
    return TemplateValue(timeNow(textAt(call, 0)));
  // namespace, dict
  TemplateValue::Map entries;
  if (!call.plain.empty() && call.plain[0].is(Kind::Map))
    entries = call.plain[0].map();
  const TemplateValue made(std::move(entries));
  for (const auto &[key, value] : call.named)
    made.set(key, value);
  return made;
}

bool isTemplateFunction(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"raise_exception", "range", "strftime_now",
                                                             "namespace", "dict"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

TemplateValue templateItem(const TemplateValue &value, const TemplateValue &key) {
  if (value.is(Kind::Map)) {
    const TemplateValue *found = key.is(Kind::Text) ? value.find(key.text()) : nullptr;
    return found ? *found : TemplateValue();
  }
  if (!key.isWhole() || (!value.is(Kind::List) && !value.is(Kind::Text)))
    return {};
  const Values all = templateElements(value);
  const auto count = static_cast<int64_t>(all.size());
  const int64_t at = key.integer() < 0 ? key.integer() + count : key.integer();
  return at < 0 || at >= count ? TemplateValue() : all[static_cast<size_t>(at)];
}

std::vector<TemplateValue> templateElements(const TemplateValue &value) {
  Values all;
  switch (value.kind()) {
  case Kind::List:
    return value.list();
  case Kind::Map:
    for (const auto &[key, one] : value.map())
      all.emplace_back(key);
    return all;
  case Kind::Text:
    for (const std::string_view one : characters(value.text()))
      all.emplace_back(std::string(one));
    return all;
  case Kind::Undefined:
    return all;
  default:
    fail("{} has no elements to go through", value.typeName());
  }
}

bool templateContains(const TemplateValue &whole, const TemplateValue &part) {
  if (whole.is(Kind::Text)) {
    if (!part.is(Kind::Text))
      fail("'in' asks a text for {}", part.typeName());
    return whole.text().find(part.text()) != std::string::npos;
  }
  if (whole.is(Kind::Map))
    return part.is(Kind::Text) && whole.find(part.text());
  const Values all = templateElements(whole);
  return std::any_of(all.begin(), all.end(),
                     [&](const TemplateValue &one) { return TemplateValue::equal(one, part); });
}

TemplateValue templateSlice(const TemplateValue &value, std::optional<int64_t> first,
                            std::optional<int64_t> end, int64_t step) {
  if (!value.is(Kind::List) && !value.is(Kind::Text))
    fail("a slice of {}", value.typeName());
  if (step == 0)
    fail("a slice with the step 0");
  const Values all = templateElements(value);
  const auto count = static_cast<int64_t>(all.size());
  // Python's PySlice_AdjustIndices
  const auto bounded = [&](std::optional<int64_t> place, int64_t otherwise) {
    if (!place)
      return otherwise;
    const int64_t at = *place < 0 ? *place + count : *place;
    return step > 0 ? std::clamp<int64_t>(at, 0, count) : std::clamp<int64_t>(at, -1, count - 1);
  };
  const int64_t from = bounded(first, step > 0 ? 0 : count - 1), to = bounded(end, step > 0 ? count : -1);
  Values taken;
  for (int64_t at = from; step > 0 ? at < to : at > to; at += step)
    taken.push_back(all[static_cast<size_t>(at)]);
  if (value.is(Kind::List))
    return TemplateValue(std::move(taken));
  std::string text;
  for (const TemplateValue &one : taken)
    text += one.text();
  return TemplateValue(std::move(text));
}

} // namespace kedge::driver
