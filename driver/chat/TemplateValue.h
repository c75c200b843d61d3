// What a chat template computes with: Python's values, as far as templates see them.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::driver {

struct TemplateMacro;

class TemplateValue {
public:
  enum class Kind : uint8_t { Undefined, None, Bool, Integer, Real, Text, List, Map, Macro, Function };
  using List = std::vector<TemplateValue>;
  using Map = std::vector<std::pair<std::string, TemplateValue>>; ///< in the order of insertion

  TemplateValue() = default; ///< undefined
  explicit TemplateValue(bool value) : what(Kind::Bool), whole(value) {}
  explicit TemplateValue(int64_t value) : what(Kind::Integer), whole(value) {}
  explicit TemplateValue(double value) : what(Kind::Real), number(value) {}
  explicit TemplateValue(std::string value) : what(Kind::Text), letters(std::move(value)) {}
  explicit TemplateValue(List values) : what(Kind::List), items(std::make_shared<List>(std::move(values))) {}
  explicit TemplateValue(Map values) : what(Kind::Map), entries(std::make_shared<Map>(std::move(values))) {}
  explicit TemplateValue(const TemplateMacro *macro) : what(Kind::Macro), called(macro) {}
  static TemplateValue none();
  static TemplateValue function(std::string name); ///< that every template has
  static TemplateValue of(const nlohmann::ordered_json &json);

  Kind kind() const { return what; }
  bool is(Kind kind) const { return what == kind; }
  bool isNumber() const { return what == Kind::Bool || what == Kind::Integer || what == Kind::Real; }
  bool isWhole() const { return what == Kind::Bool || what == Kind::Integer; }
  bool isTrue() const; ///< as Python decides

  /// Only of the right kind.
  int64_t integer() const { return whole; }
  double real() const { return what == Kind::Real ? number : static_cast<double>(whole); }
  const std::string &text() const { return letters; }
  const List &list() const { return *items; }
  const Map &map() const { return *entries; }
  const TemplateMacro *macro() const { return called; }

  /// Of a map; null: none of that name.
  const TemplateValue *find(std::string_view key) const;
  /// Changes a map that others may hold, too: a namespace.
  void set(const std::string &key, TemplateValue value) const;

  std::string typeName() const; ///< Python's
  std::string str() const;      ///< as Python prints it
  std::string repr() const;
  /// As json.dumps writes it, with ensure_ascii=False; `indent` below 0: on one line.
  std::string json(int indent, int depth = 0) const;

  /// Nothing where Python cannot compare.
  static bool equal(const TemplateValue &a, const TemplateValue &b);
  static std::optional<int> compare(const TemplateValue &a, const TemplateValue &b);

private:
  Kind what = Kind::Undefined;
  int64_t whole = 0;
  double number = 0;
  std::string letters;
  std::shared_ptr<List> items;
  std::shared_ptr<Map> entries;
  const TemplateMacro *called = nullptr;
};

} // namespace kedge::driver
