#include "driver/chat/TemplateRun.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::driver {
namespace {

using Kind = TemplateExpression::Kind;
using NodeKind = TemplateNode::Kind;
using ValueKind = TemplateValue::Kind;

constexpr int kDeepest = 200; // calls of macros within each other

/// What was not defined, as a template's reader knows it.
std::string nameOf(const TemplateExpression &one) {
  return one.name.empty() ? "the value" : "'" + one.name + "'";
}

TemplateValue arithmetic(const std::string &word, const TemplateValue &a, const TemplateValue &b) {
  if (!a.isNumber() || !b.isNumber())
    fail("'{}' of {} and {}", word, a.typeName(), b.typeName());
  const bool whole = a.isWhole() && b.isWhole() && word != "/";
  if (word != "+" && word != "-" && word != "*" && b.real() == 0)
    fail("a division by zero");
  if (!whole) {
    const double x = a.real(), y = b.real();
    if (word == "//" || word == "%")
      fail("'{}' of floats is not available yet", word);
    return TemplateValue(word == "+" ? x + y : word == "-" ? x - y : word == "*" ? x * y : x / y);
  }
  const int64_t x = a.integer(), y = b.integer();
  int64_t result = 0;
  if (word == "+"   ? __builtin_add_overflow(x, y, &result)
      : word == "-" ? __builtin_sub_overflow(x, y, &result)
                    : word == "*" && __builtin_mul_overflow(x, y, &result))
    fail("'{}' gives a number of more than 64 bits", word);
  if (word == "//" || word == "%") { // towards minus infinity
    const int64_t rest = x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y;
    result = word == "%" ? rest : (x - rest) / y;
  }
  return TemplateValue(result);
}

TemplateValue added(const TemplateValue &a, const TemplateValue &b) {
  if (a.is(ValueKind::Text) && b.is(ValueKind::Text))
    return TemplateValue(a.text() + b.text());
  if (a.is(ValueKind::List) && b.is(ValueKind::List)) {
    TemplateValue::List all = a.list();
    all.insert(all.end(), b.list().begin(), b.list().end());
    return TemplateValue(std::move(all));
  }
  return arithmetic("+", a, b);
}

TemplateValue multiplied(const TemplateValue &a, const TemplateValue &b) {
  if (!a.is(ValueKind::Text) || !b.isWhole())
    return arithmetic("*", a, b);
  std::string text;
  for (int64_t count = 0; count < b.integer(); ++count)
    text += a.text();
  return TemplateValue(std::move(text));
}

bool ordered(const std::string &word, const TemplateValue &a, const TemplateValue &b) {
  const std::optional<int> sign = TemplateValue::compare(a, b);
  if (!sign)
    fail("'{}' of {} and {}", word, a.typeName(), b.typeName());
  return word == "<" ? *sign < 0 : word == "<=" ? *sign <= 0 : word == ">" ? *sign > 0 : *sign >= 0;
}

TemplateValue loopValue(const std::vector<TemplateValue> &all, size_t at) {
  const auto number = [](size_t value) { return TemplateValue(static_cast<int64_t>(value)); };
  TemplateValue::Map loop{{"index0", number(at)},
                          {"index", number(at + 1)},
                          {"revindex0", number(all.size() - at - 1)},
                          {"revindex", number(all.size() - at)},
                          {"length", number(all.size())},
                          {"first", TemplateValue(at == 0)},
                          {"last", TemplateValue(at + 1 == all.size())}};
  if (at > 0)
    loop.emplace_back("previtem", all[at - 1]);
  if (at + 1 < all.size())
    loop.emplace_back("nextitem", all[at + 1]);
  return TemplateValue(std::move(loop));
}

} // namespace

const TemplateValue *TemplateCall::find(size_t place, std::string_view name) const {
  if (place < plain.size())
    return &plain[place];
  const auto found =
      std::find_if(named.begin(), named.end(), [&](const auto &entry) { return entry.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

TemplateRun::TemplateRun(TemplateValue::Map variables) : scopes(1) {
  for (auto &[name, value] : variables)
    scopes[0][name] = std::move(value);
}

std::string TemplateRun::run(const TemplateBody &body) {
  std::string out;
  run(body, out);
  return out;
}

TemplateRun::Flow TemplateRun::run(const TemplateBody &body, std::string &out) {
  for (const TemplateNode &node : body)
    if (const Flow flow = run(node, out); flow != Flow::Goes)
      return flow;
  return Flow::Goes;
}

TemplateRun::Flow TemplateRun::run(const TemplateNode &node, std::string &out) {
  switch (node.kind) {
  case NodeKind::Text:
    out += node.text;
    break;
  case NodeKind::Print:
    out += evaluate(*node.value).str();
    break;
  case NodeKind::If:
    return run(evaluate(*node.condition).isTrue() ? node.body : node.otherwise, out);
  case NodeKind::For:
    return runFor(node, out);
  case NodeKind::Set:
    runSet(node);
    break;
  case NodeKind::SetBlock: {
    std::string text;
    const Flow flow = run(node.body, text);
    assign(node.names, TemplateValue(std::move(text)));
    return flow;
  }
  case NodeKind::Macro:
    scopes.back()[node.text] = TemplateValue(&node.macro);
    break;
  case NodeKind::Body:
    return run(node.body, out);
  case NodeKind::Break:
    return Flow::Breaks;
  case NodeKind::Continue:
    return Flow::Continues;
  }
  return Flow::Goes;
}

void TemplateRun::assign(const std::vector<std::string> &names, const TemplateValue &value) {
  if (names.size() == 1) {
    scopes.back()[names[0]] = value;
    return;
  }
  const std::vector<TemplateValue> parts = templateElements(value);
  if (parts.size() != names.size())
    fail("{} values for {} names", parts.size(), names.size());
  for (size_t at = 0; at < names.size(); ++at)
    scopes.back()[names[at]] = parts[at];
}

void TemplateRun::runSet(const TemplateNode &node) {
  const TemplateValue value = evaluate(*node.value);
  if (node.attribute.empty())
    return assign(node.names, value);
  const TemplateValue holder = variable(node.names[0]);
  if (!holder.is(ValueKind::Map))
    fail("line {}: '{}' is no namespace", node.line, node.names[0]);
  holder.set(node.attribute, value);
}

/// The elements that the loop's condition takes.
std::vector<TemplateValue> TemplateRun::taken(const TemplateNode &node) {
  std::vector<TemplateValue> all = templateElements(evaluate(*node.value));
  if (!node.condition)
    return all;
  std::vector<TemplateValue> result;
  for (TemplateValue &one : all) {
    scopes.emplace_back();
    assign(node.names, one);
    if (evaluate(*node.condition).isTrue())
      result.push_back(std::move(one));
    scopes.pop_back();
  }
  return result;
}

TemplateRun::Flow TemplateRun::runFor(const TemplateNode &node, std::string &out) {
  const std::vector<TemplateValue> all = taken(node);
  for (size_t at = 0; at < all.size(); ++at) {
    scopes.emplace_back(); // what a loop sets ends with each turn
    scopes.back()["loop"] = loopValue(all, at);
    assign(node.names, all[at]);
    const Flow flow = run(node.body, out);
    scopes.pop_back();
    if (flow == Flow::Breaks)
      break;
  }
  return all.empty() ? run(node.otherwise, out) : Flow::Goes;
}

TemplateValue TemplateRun::variable(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end())
      return found->second;
  return isTemplateFunction(name) ? TemplateValue::function(name) : TemplateValue();
}

TemplateCall TemplateRun::evaluate(const TemplateArguments &arguments) {
  TemplateCall call;
  for (const Expression &one : arguments.plain)
    call.plain.push_back(evaluate(*one));
  for (const auto &[name, one] : arguments.named)
    call.named.emplace_back(name, evaluate(*one));
  return call;
}

TemplateValue TemplateRun::binary(const TemplateExpression &one) {
  const std::string &word = one.name;
  const TemplateValue a = operand(one, 0);
  if (word == "and" || word == "or")
    return a.isTrue() == (word == "or") ? a : operand(one, 1);
  const TemplateValue b = operand(one, 1);
  if (word == "==" || word == "!=")
    return TemplateValue(TemplateValue::equal(a, b) == (word == "=="));
  if (word == "~")
    return TemplateValue(a.str() + b.str());
  if (word == "in" || word == "not in")
    return TemplateValue(templateContains(b, a) == (word == "in"));
  for (const auto &[value, at] : {std::pair{&a, 0}, {&b, 1}})
    if (value->is(ValueKind::Undefined))
      fail("{} is undefined", nameOf(*one.operands[static_cast<size_t>(at)]));
  if (word == "<" || word == "<=" || word == ">" || word == ">=")
    return TemplateValue(ordered(word, a, b));
  return word == "+" ? added(a, b) : word == "*" ? multiplied(a, b) : arithmetic(word, a, b);
}

TemplateValue TemplateRun::slice(const TemplateExpression &one) {
  const auto place = [&](size_t at) -> std::optional<int64_t> {
    if (!one.operands[at])
      return std::nullopt;
    const TemplateValue value = operand(one, at);
    if (value.is(ValueKind::None))
      return std::nullopt;
    if (!value.isWhole())
      fail("a place of a slice is {}", value.typeName());
    return value.integer();
  };
  return templateSlice(operand(one, 0), place(1), place(2), place(3).value_or(1));
}

TemplateValue TemplateRun::callMacro(const TemplateMacro &macro, const TemplateCall &call) {
  if (++depth > kDeepest)
    fail("macros call each other without an end");
  Scope own;
  for (size_t at = 0; at < macro.parameters.size(); ++at) {
    const TemplateValue *given = call.find(at, macro.parameters[at]);
    own[macro.parameters[at]] = given                ? *given
                                : macro.defaults[at] ? evaluate(*macro.defaults[at])
                                                     : TemplateValue();
  }
  std::vector<Scope> callers(std::make_move_iterator(scopes.begin() + 1),
                             std::make_move_iterator(scopes.end()));
  scopes.resize(1);
  scopes.push_back(std::move(own));
  std::string text;
  run(macro.body, text);
  scopes.resize(1);
  std::move(callers.begin(), callers.end(), std::back_inserter(scopes));
  --depth;
  return TemplateValue(std::move(text));
}

TemplateValue TemplateRun::callFunction(const TemplateExpression &one) {
  const TemplateCall call = evaluate(one.arguments);
  const TemplateValue called = operand(one, 0);
  if (called.is(ValueKind::Macro))
    return callMacro(*called.macro(), call);
  if (called.is(ValueKind::Undefined))
    fail("the function {} is not available yet", nameOf(one));
  if (!called.is(ValueKind::Function))
    fail("{} is {}, and was called", nameOf(one), called.typeName());
  return templateFunction(called.text(), call);
}

TemplateValue TemplateRun::evaluate(const TemplateExpression &one) {
  try {
    switch (one.kind) {
    case Kind::Constant:
      return one.value;
    case Kind::Name:
      return variable(one.name);
    case Kind::List: {
      TemplateValue::List values;
      for (const Expression &part : one.operands)
        values.push_back(evaluate(*part));
      return TemplateValue(std::move(values));
    }
    case Kind::Map: {
      const TemplateValue map(TemplateValue::Map{});
      for (size_t at = 0; at < one.operands.size(); at += 2)
        map.set(operand(one, at).str(), operand(one, at + 1));
      return map;
    }
    case Kind::Attribute:
    case Kind::Item:
    case Kind::Method: {
      const TemplateValue value = operand(one, 0);
      if (value.is(ValueKind::Undefined))
        fail("{} is undefined", nameOf(*one.operands[0]));
      if (one.kind == Kind::Method)
        return templateMethod(one.name, value, evaluate(one.arguments));
      return templateItem(value, one.kind == Kind::Item ? operand(one, 1) : TemplateValue(one.name));
    }
    case Kind::Slice:
      return slice(one);
    case Kind::Call:
      return callFunction(one);
    case Kind::Filter:
      return filter(one.name, operand(one, 0), evaluate(one.arguments));
    case Kind::Test:
      return TemplateValue(test(one.name, operand(one, 0), evaluate(one.arguments)));
    case Kind::Unary:
      if (one.name == "not")
        return TemplateValue(!operand(one, 0).isTrue());
      return arithmetic(one.name, TemplateValue(int64_t{0}), operand(one, 0));
    case Kind::Binary:
      return binary(one);
    case Kind::Choice:
      return operand(one, 1).isTrue() ? operand(one, 0) : one.operands[2] ? operand(one, 2) : TemplateValue();
    }
  } catch (const Error &error) {
    if (std::string_view(error.what()).starts_with("line "))
      throw;
    fail("line {}: {}", one.line, error.what());
  }
  return {};
}

} // namespace kedge::driver
