#include "driver/chat/TemplateParser.h"
#include "driver/chat/TemplateLexer.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <initializer_list>

namespace kedge::driver {
namespace {

using Kind = TemplateExpression::Kind;
using Word = TemplateToken::Kind;
using NodeKind = TemplateNode::Kind;

/// Expressions, weakest binding first, as in Jinja's parser.
class ExpressionParser {
public:
  explicit ExpressionParser(std::vector<TemplateToken> tokens) : tokens(std::move(tokens)) {}

protected:
  const TemplateToken &next() const { return tokens[at]; }
  bool isNext(Word kind, std::string_view text) const { return next().kind == kind && next().text == text; }
  bool isOperator(std::string_view text) const { return isNext(Word::Operator, text); }
  bool isName(std::string_view text) const { return isNext(Word::Name, text); }
  bool take(std::string_view text) {
    const bool found = isOperator(text) || isName(text);
    at += found ? 1 : 0;
    return found;
  }
  void expect(std::string_view text) {
    if (!take(text))
      fail("line {}: expected '{}', found '{}'", next().line, text, next().text);
  }
  std::string takeName() {
    if (next().kind != Word::Name)
      fail("line {}: expected a name, found '{}'", next().line, next().text);
    return tokens[at++].text;
  }

  Expression make(Kind kind, std::string name = "") const {
    auto made = std::make_unique<TemplateExpression>();
    made->kind = kind;
    made->name = std::move(name);
    made->line = next().line;
    return made;
  }
  Expression of(Kind kind, std::string name, Expression first, Expression second = nullptr) const {
    Expression made = make(kind, std::move(name));
    made->operands.push_back(std::move(first));
    if (second)
      made->operands.push_back(std::move(second));
    return made;
  }
  Expression constant(TemplateValue value) const {
    Expression made = make(Kind::Constant);
    made->value = std::move(value);
    return made;
  }

  /// `a, b`: a list without brackets.
  Expression parseTuple() {
    Expression first = parseExpression();
    if (!isOperator(","))
      return first;
    Expression list = of(Kind::List, "", std::move(first));
    while (take(",") && next().kind != Word::EndTag && next().kind != Word::EndPrint)
      list->operands.push_back(parseExpression());
    return list;
  }

  Expression parseExpression(bool withChoice = true) {
    Expression value = parseOr();
    while (withChoice && take("if")) {
      Expression choice = of(Kind::Choice, "", std::move(value), parseOr());
      choice->operands.push_back(take("else") ? parseExpression() : nullptr);
      value = std::move(choice);
    }
    return value;
  }

  Expression parseOr() {
    return leftToRight({"or"}, [&] { return parseAnd(); });
  }
  Expression parseAnd() {
    return leftToRight({"and"}, [&] { return parseNot(); });
  }
  Expression parseNot() { return take("not") ? of(Kind::Unary, "not", parseNot()) : parseComparison(); }

  /// a < b < c is a < b and b < c: what is compared twice has no effects.
  Expression parseComparison() {
    Expression value = parseSum();
    Expression all;
    for (std::string word = comparison(); !word.empty(); word = comparison()) {
      if (all)
        fail("line {}: comparisons in a chain are not available yet", next().line);
      all = of(Kind::Binary, word, std::move(value), parseSum());
    }
    return all ? std::move(all) : std::move(value);
  }
  std::string comparison() {
    for (const char *word : {"==", "!=", "<=", ">=", "<", ">", "in"})
      if (take(word))
        return word;
    if (isName("not") && tokens[at + 1].kind == Word::Name && tokens[at + 1].text == "in") {
      at += 2;
      return "not in";
    }
    return "";
  }

  Expression parseSum() {
    return leftToRight({"+", "-"}, [&] { return parseConcatenation(); });
  }
  Expression parseConcatenation() {
    return leftToRight({"~"}, [&] { return parseProduct(); });
  }
  Expression parseProduct() {
    return leftToRight({"*", "//", "/", "%"}, [&] { return parseUnary(true); });
  }
  template <typename Inner> Expression leftToRight(std::initializer_list<const char *> words, Inner &&inner) {
    Expression value = inner();
    for (;;) {
      const auto found =
          std::find_if(words.begin(), words.end(), [&](const char *word) { return take(word); });
      if (found == words.end())
        return value;
      value = of(Kind::Binary, *found, std::move(value), inner());
    }
  }

  Expression parseUnary(bool withFilters) {
    Expression value;
    if (isOperator("-") || isOperator("+")) {
      const std::string sign = tokens[at++].text;
      value = of(Kind::Unary, sign, parseUnary(false));
    } else {
      value = parsePrimary();
    }
    value = parsePostfix(std::move(value));
    if (isOperator("**"))
      fail("line {}: the operator '**' is not available yet", next().line);
    return withFilters ? parseFilters(std::move(value)) : std::move(value);
  }

  Expression parsePrimary() {
    const TemplateToken token = next();
    ++at;
    switch (token.kind) {
    case Word::Integer:
      return constant(TemplateValue(static_cast<int64_t>(std::stoll(token.text))));
    case Word::Real:
      return constant(TemplateValue(std::stod(token.text)));
    case Word::String: {
      std::string text = token.text;
      while (next().kind == Word::String)
        text += tokens[at++].text;
      return constant(TemplateValue(std::move(text)));
    }
    case Word::Name:
      return named(token.text);
    default:
      break;
    }
    if (token.text == "(" && take(")"))
      return make(Kind::List);
    if (token.text == "(") {
      Expression value = parseTuple();
      expect(")");
      return value;
    }
    if (token.text == "[")
      return parseList();
    if (token.text == "{")
      return parseMap();
    fail("line {}: expected an expression, found '{}'", token.line, token.text);
  }

  Expression named(const std::string &name) {
    if (name == "true" || name == "True")
      return constant(TemplateValue(true));
    if (name == "false" || name == "False")
      return constant(TemplateValue(false));
    if (name == "none" || name == "None")
      return constant(TemplateValue::none());
    return make(Kind::Name, name);
  }

  Expression parseList() {
    Expression list = make(Kind::List);
    while (!take("]")) {
      list->operands.push_back(parseExpression());
      if (!isOperator("]"))
        expect(",");
    }
    return list;
  }
  Expression parseMap() {
    Expression map = make(Kind::Map);
    while (!take("}")) {
      map->operands.push_back(parseExpression());
      expect(":");
      map->operands.push_back(parseExpression());
      if (!isOperator("}"))
        expect(",");
    }
    return map;
  }

  Expression parsePostfix(Expression value) {
    for (;;) {
      if (take(".")) {
        const std::string name = takeName();
        if (!isOperator("(")) {
          value = of(Kind::Attribute, name, std::move(value));
          continue;
        }
        value = of(Kind::Method, name, std::move(value));
        value->arguments = parseArguments();
      } else if (take("[")) {
        value = parseSubscript(std::move(value));
      } else if (isOperator("(")) {
        const std::string name = value->kind == Kind::Name ? value->name : "";
        value = of(Kind::Call, name, std::move(value));
        value->arguments = parseArguments();
      } else {
        return value;
      }
    }
  }

  Expression parseSubscript(Expression value) {
    std::vector<Expression> parts;
    bool slice = false;
    Expression part = isOperator(":") ? nullptr : parseExpression();
    parts.push_back(std::move(part));
    while (take(":")) {
      slice = true;
      parts.push_back(isOperator(":") || isOperator("]") ? nullptr : parseExpression());
    }
    expect("]");
    if (!slice)
      return of(Kind::Item, "", std::move(value), std::move(parts[0]));
    Expression made = of(Kind::Slice, "", std::move(value));
    parts.resize(3);
    for (Expression &one : parts)
      made->operands.push_back(std::move(one));
    return made;
  }

  TemplateArguments parseArguments() {
    TemplateArguments arguments;
    expect("(");
    while (!take(")")) {
      if (next().kind == Word::Name && tokens[at + 1].kind == Word::Operator && tokens[at + 1].text == "=") {
        const std::string name = takeName();
        expect("=");
        arguments.named.emplace_back(name, parseExpression());
      } else {
        arguments.plain.push_back(parseExpression());
      }
      if (!isOperator(")"))
        expect(",");
    }
    return arguments;
  }

  Expression parseFilters(Expression value) {
    for (;;) {
      if (take("|")) {
        const int line = next().line;
        const std::string name = takeName();
        if (!isTemplateFilter(name))
          fail("line {}: the filter '{}' is not available yet", line, name);
        value = of(Kind::Filter, name, std::move(value));
        if (isOperator("("))
          value->arguments = parseArguments();
      } else if (take("is")) {
        value = parseTest(std::move(value));
      } else {
        return value;
      }
    }
  }

  Expression parseTest(Expression value) {
    const bool isNot = take("not");
    const int line = next().line;
    const std::string name = isOperator("==") ? "==" : next().text;
    ++at;
    if (!isTemplateTest(name))
      fail("line {}: the test '{}' is not available yet", line, name);
    value = of(Kind::Test, name, std::move(value));
    if (isOperator("("))
      value->arguments = parseArguments();
    else if (isArgument())
      value->arguments.plain.push_back(parsePostfix(parsePrimary()));
    return isNot ? of(Kind::Unary, "not", std::move(value)) : std::move(value);
  }
  /// Whether the argument of a test follows without brackets.
  bool isArgument() const {
    static constexpr const char *kNot[] = {"else", "or", "and", "is", "if", "in", "not", "recursive"};
    switch (next().kind) {
    case Word::Integer:
    case Word::Real:
    case Word::String:
      return true;
    case Word::Name:
      return std::none_of(std::begin(kNot), std::end(kNot),
                          [&](const char *word) { return next().text == word; });
    default:
      return isOperator("[") || isOperator("{");
    }
  }

  std::vector<TemplateToken> tokens;
  size_t at = 0;
};

class TemplateParser : public ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;

  TemplateBody run() {
    TemplateBody body = parseBody({});
    if (next().kind != Word::End)
      fail("line {}: 'end...' without a beginning", next().line);
    return body;
  }

private:
  TemplateNode node(NodeKind kind) const {
    TemplateNode made;
    made.kind = kind;
    made.line = next().line;
    return made;
  }
  void endTag() {
    if (next().kind != Word::EndTag)
      fail("line {}: expected the end of the tag, found '{}'", next().line, next().text);
    ++at;
  }

  /// Up to a tag with one of these names, which stays.
  TemplateBody parseBody(std::initializer_list<const char *> ends) {
    TemplateBody body;
    for (;;) {
      if (next().kind == Word::End) {
        if (ends.size() != 0)
          fail("line {}: '{}' is missing", next().line, *(ends.end() - 1));
        return body;
      }
      if (next().kind == Word::Text) {
        body.push_back(node(NodeKind::Text));
        body.back().text = tokens[at++].text;
      } else if (next().kind == Word::BeginPrint) {
        ++at;
        body.push_back(node(NodeKind::Print));
        body.back().value = parseTuple();
        if (next().kind != Word::EndPrint)
          fail("line {}: expected '}}}}', found '{}'", next().line, next().text);
        ++at;
      } else {
        const std::string &name = tokens[at + 1].text;
        if (std::any_of(ends.begin(), ends.end(), [&](const char *end) { return name == end; }))
          return body;
        ++at;
        body.push_back(parseTag());
      }
    }
  }
  /// The tag that ended a body.
  void closing(const char *name) {
    ++at;
    expect(name);
    endTag();
  }

  TemplateNode parseTag() {
    if (take("if"))
      return parseIf();
    if (take("for"))
      return parseFor();
    if (take("set"))
      return parseSet();
    if (take("macro"))
      return parseMacro();
    if (take("generation")) // marks the assistant's text, and is nothing else
      return parsePlain("endgeneration");
    for (const auto &[word, kind] : {std::pair{"break", NodeKind::Break}, {"continue", NodeKind::Continue}})
      if (take(word)) {
        TemplateNode made = node(kind);
        endTag();
        return made;
      }
    fail("line {}: the tag '{}' is not available yet", next().line, next().text);
  }

  TemplateNode parsePlain(const char *end) {
    TemplateNode made = node(NodeKind::Body);
    endTag();
    made.body = parseBody({end});
    closing(end);
    return made;
  }

  TemplateNode parseIf() {
    TemplateNode made = node(NodeKind::If);
    made.condition = parseTuple();
    endTag();
    made.body = parseBody({"elif", "else", "endif"});
    ++at;
    if (take("elif")) {
      made.otherwise.push_back(parseIf());
    } else if (take("else")) {
      endTag();
      made.otherwise = parseBody({"endif"});
      closing("endif");
    } else {
      expect("endif");
      endTag();
    }
    return made;
  }

  TemplateNode parseFor() {
    TemplateNode made = node(NodeKind::For);
    const bool inBrackets = take("(");
    do
      made.names.push_back(takeName());
    while (take(","));
    if (inBrackets)
      expect(")");
    expect("in");
    made.value = parseExpression(/*withChoice=*/false);
    if (take("if"))
      made.condition = parseExpression();
    if (isName("recursive"))
      fail("line {}: 'recursive' is not available yet", next().line);
    endTag();
    made.body = parseBody({"else", "endfor"});
    if (tokens[at + 1].text == "else") {
      closing("else");
      made.otherwise = parseBody({"endfor"});
    }
    closing("endfor");
    return made;
  }

  TemplateNode parseSet() {
    TemplateNode made = node(NodeKind::Set);
    do
      made.names.push_back(takeName());
    while (take(","));
    if (take("."))
      made.attribute = takeName();
    if (take("=")) {
      made.value = parseTuple();
      endTag();
      return made;
    }
    made.kind = NodeKind::SetBlock;
    endTag();
    made.body = parseBody({"endset"});
    closing("endset");
    return made;
  }

  TemplateNode parseMacro() {
    TemplateNode made = node(NodeKind::Macro);
    made.text = takeName();
    expect("(");
    while (!take(")")) {
      made.macro.parameters.push_back(takeName());
      made.macro.defaults.push_back(take("=") ? parseExpression() : nullptr);
      if (!isOperator(")"))
        expect(",");
    }
    endTag();
    made.macro.body = parseBody({"endmacro"});
    closing("endmacro");
    return made;
  }
};

} // namespace

TemplateBody parseTemplate(const std::string &source) { return TemplateParser(templateTokens(source)).run(); }

} // namespace kedge::driver
