// Runs a chat template: what Jinja's sandbox would print, or an error with the line.
#pragma once
#include "driver/chat/TemplateNodes.h"
#include <map>

namespace kedge::driver {

struct TemplateCall {
  std::vector<TemplateValue> plain;
  std::vector<std::pair<std::string, TemplateValue>> named;

  /// The argument at a place or of a name; null: not given.
  const TemplateValue *find(size_t place, std::string_view name) const;
};

class TemplateRun {
public:
  explicit TemplateRun(TemplateValue::Map variables);
  std::string run(const TemplateBody &body);

  /// For filters that ask with a test: `selectattr("role", "equalto", "user")`.
  bool test(const std::string &name, const TemplateValue &value, const TemplateCall &call) const;
  TemplateValue filter(const std::string &name, const TemplateValue &value, const TemplateCall &call) const;

private:
  enum class Flow : uint8_t { Goes, Breaks, Continues };
  using Scope = std::map<std::string, TemplateValue, std::less<>>;

  Flow run(const TemplateBody &body, std::string &out);
  Flow run(const TemplateNode &node, std::string &out);
  Flow runFor(const TemplateNode &node, std::string &out);
  void runSet(const TemplateNode &node);
  void assign(const std::vector<std::string> &names, const TemplateValue &value);
  std::vector<TemplateValue> taken(const TemplateNode &node);

  TemplateValue evaluate(const TemplateExpression &one);
  TemplateValue operand(const TemplateExpression &one, size_t at) { return evaluate(*one.operands[at]); }
  TemplateValue variable(const std::string &name) const;
  TemplateValue binary(const TemplateExpression &one);
  TemplateValue slice(const TemplateExpression &one);
  TemplateValue callFunction(const TemplateExpression &one);
  TemplateValue callMacro(const TemplateMacro &macro, const TemplateCall &call);
  TemplateCall evaluate(const TemplateArguments &arguments);

  std::vector<Scope> scopes;
  int depth = 0;
};

/// value.name and value[key]; undefined where there is none.
TemplateValue templateItem(const TemplateValue &value, const TemplateValue &key);
/// value.name(arguments).
TemplateValue templateMethod(const std::string &name, const TemplateValue &value, const TemplateCall &call);
bool isTemplateFunction(std::string_view name);
TemplateValue templateFunction(const std::string &name, const TemplateCall &call);
/// What a loop goes through.
std::vector<TemplateValue> templateElements(const TemplateValue &value);
bool templateContains(const TemplateValue &whole, const TemplateValue &part);
TemplateValue templateSlice(const TemplateValue &value, std::optional<int64_t> first,
                            std::optional<int64_t> end, int64_t step);

} // namespace kedge::driver
