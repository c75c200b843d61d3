// A chat template as a tree: expressions, and what stands between the texts.
#pragma once
#include "driver/chat/TemplateValue.h"

namespace kedge::driver {

struct TemplateExpression;
using Expression = std::unique_ptr<TemplateExpression>;

struct TemplateArguments {
  std::vector<Expression> plain;
  std::vector<std::pair<std::string, Expression>> named;
};

struct TemplateExpression {
  enum class Kind : uint8_t {
    Constant,
    Name,      ///< `name`
    List,      ///< operands
    Map,       ///< keys and values in turn
    Attribute, ///< operand 0 . name
    Item,      ///< operand 0 [operand 1]
    Slice,     ///< operand 0 [1 : 2 : 3]; null where left out
    Call,      ///< operand 0, or the function `name`
    Method,    ///< operand 0 . name (arguments)
    Filter,    ///< operand 0 | name
    Test,      ///< operand 0 is name
    Unary,     ///< name: "not", "-", "+"
    Binary,    ///< name: the operator
    Choice     ///< operand 0 if operand 1 else operand 2 (null: undefined)
  } kind = Kind::Constant;
  std::string name;
  TemplateValue value;
  std::vector<Expression> operands;
  TemplateArguments arguments;
  int line = 1;
};

struct TemplateNode;
using TemplateBody = std::vector<TemplateNode>;

struct TemplateMacro {
  std::vector<std::string> parameters;
  std::vector<Expression> defaults; ///< one each; null: none
  TemplateBody body;
};

struct TemplateNode {
  enum class Kind : uint8_t {
    Text,
    Print,
    If,
    For,
    Set,
    SetBlock,
    Macro,
    Body,
    Break,
    Continue
  } kind = Kind::Text;
  std::string text;               ///< of Text; the macro's name
  std::vector<std::string> names; ///< of For and Set
  std::string attribute;          ///< of Set: names[0].attribute = value
  Expression value, condition;    ///< what is printed, set, gone through, asked; For: which are taken
  TemplateBody body, otherwise;
  TemplateMacro macro;
  int line = 1;
};

} // namespace kedge::driver
