#include "driver/chat/TemplateLexer.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <array>
#include <cctype>

namespace kedge::driver {
namespace {

using Kind = TemplateToken::Kind;

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string oneKindOfLine(const std::string &source) {
  std::string result;
  for (size_t at = 0; at < source.size(); ++at)
    if (source[at] != '\r')
      result += source[at];
    else if (at + 1 == source.size() || source[at + 1] != '\n')
      result += '\n';
  if (result.ends_with('\n'))
    result.pop_back(); // keep_trailing_newline is off
  return result;
}

void addCodePoint(std::string &text, uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static constexpr std::array<unsigned, 4> kMarks = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kMarks[static_cast<size_t>(more)] | (point >> (6 * more)));
  for (int part = more - 1; part >= 0; --part)
    text += static_cast<char>(0x80 | ((point >> (6 * part)) & 0x3F));
}

class Lexer {
public:
  explicit Lexer(std::string text) : source(oneKindOfLine(text)) {}

  std::vector<TemplateToken> run() {
    while (at < source.size())
      readText();
    add(Kind::End, "");
    return std::move(tokens);
  }

private:
  void add(Kind kind, std::string text) { tokens.push_back({kind, std::move(text), line}); }
  bool follows(std::string_view word) const { return source.compare(at, word.size(), word) == 0; }
  void step(size_t count) {
    line += static_cast<int>(std::count(source.begin() + static_cast<ptrdiff_t>(at),
                                        source.begin() + static_cast<ptrdiff_t>(at + count), '\n'));
    at += count;
  }

  /// Up to the next tag, and the tag.
  void readText() {
    size_t open = at;
    while (open < source.size() &&
           (source[open] != '{' || open + 1 == source.size() ||
            (source[open + 1] != '{' && source[open + 1] != '%' && source[open + 1] != '#')))
      ++open;
    std::string text = source.substr(at, open - at);
    if (open == source.size()) {
      addText(text);
      step(open - at);
      return;
    }
    const char kind = source[open + 1], sign = open + 2 < source.size() ? source[open + 2] : ' ';
    if (sign == '-')
      while (!text.empty() && isSpace(text.back()))
        text.pop_back();
    else if (sign != '+' && kind != '{')
      dropIndent(text);
    addText(text);
    step(open - at + 2 + (sign == '-' || sign == '+' ? 1 : 0));
    if (kind == '#')
      return skipComment();
    readTag(kind == '{' ? Kind::BeginPrint : Kind::BeginTag);
  }

  void addText(const std::string &text) {
    if (!text.empty())
      add(Kind::Text, text);
  }

  /// lstrip_blocks: what stands before a tag on its line, if it is white.
  void dropIndent(std::string &text) const {
    const size_t end = text.rfind('\n'), begin = end == std::string::npos ? 0 : end + 1;
    if ((begin > 0 || beginsLine) &&
        std::all_of(text.begin() + static_cast<ptrdiff_t>(begin), text.end(), isSpace))
      text.resize(begin);
  }

  /// trim_blocks drops one line end behind a tag; a minus all white space.
  void leave(char sign, bool dropsLineEnd) {
    beginsLine = false;
    if (sign == '-')
      while (at < source.size() && isSpace(source[at]))
        step(1);
    else if (sign != '+' && dropsLineEnd && at < source.size() && source[at] == '\n') {
      step(1);
      beginsLine = true;
    }
    if (at > 0 && source[at - 1] == '\n')
      beginsLine = true;
  }

  void skipComment() {
    const size_t end = source.find("#}", at);
    if (end == std::string::npos)
      fail("line {}: a comment does not end", line);
    const char sign = end > at ? source[end - 1] : ' ';
    step(end + 2 - at);
    leave(sign, true);
  }

  void readTag(Kind kind) {
    const int from = line;
    add(kind, "");
    const std::string_view close = kind == Kind::BeginPrint ? "}}" : "%}";
    const Kind end = kind == Kind::BeginPrint ? Kind::EndPrint : Kind::EndTag;
    for (;;) {
      while (at < source.size() && isSpace(source[at]))
        step(1);
      if (at == source.size())
        fail("line {}: a tag does not end", from);
      const bool signs = (source[at] == '-' || source[at] == '+') && source.compare(at + 1, 2, close) == 0;
      if ((depth == 0 && follows(close)) || signs) {
        const char sign = signs ? source[at] : ' ';
        add(end, "");
        step(signs ? 3 : 2);
        return leave(sign, kind == Kind::BeginTag);
      }
      readWord();
    }
  }

  void readWord() {
    const char c = source[at];
    size_t end = at;
    if (isLetter(c)) {
      while (end < source.size() && (isLetter(source[end]) || isDigit(source[end])))
        ++end;
      add(Kind::Name, source.substr(at, end - at));
      return step(end - at);
    }
    if (isDigit(c))
      return readNumber();
    if (c == '\'' || c == '"')
      return readString();
    static constexpr std::array<std::string_view, 7> kLong = {"==", "!=", "<=", ">=", "//", "**", "~"};
    for (const std::string_view word : kLong)
      if (follows(word)) {
        add(Kind::Operator, std::string(word));
        return step(word.size());
      }
    static constexpr std::string_view kShort = "+-*/%<>=()[]{}.,:|";
    if (kShort.find(c) == std::string_view::npos)
      fail("line {}: '{}' is not expected", line, c);
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    add(Kind::Operator, std::string(1, c));
    step(1);
  }

  void readNumber() {
    size_t end = at;
    const auto digits = [&] {
      while (end < source.size() && (isDigit(source[end]) || source[end] == '_'))
        ++end;
    };
    digits();
    bool real = false;
    if (end + 1 < source.size() && source[end] == '.' && isDigit(source[end + 1])) {
      real = true;
      ++end;
      digits();
    }
    std::string text = source.substr(at, end - at);
    std::erase(text, '_');
    add(real ? Kind::Real : Kind::Integer, text);
    step(end - at);
  }

  void readString() {
    const char quote = source[at];
    const int from = line;
    std::string text;
    step(1);
    for (;; step(1)) {
      if (at >= source.size())
        fail("line {}: a string does not end", from);
      if (source[at] == quote)
        break;
      if (source[at] == '\\' && at + 1 < source.size()) {
        step(1);
        readEscape(text);
      } else {
        text += source[at];
      }
    }
    step(1);
    add(Kind::String, text);
  }

  /// Python's, at the character behind the backslash.
  void readEscape(std::string &text) {
    static constexpr std::string_view kNames = "ntr\\'\"abfv0",
                                      kMeant = std::string_view("\n\t\r\\'\"\a\b\f\v\0", 11);
    const char c = source[at];
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits != 0) {
      const std::string word = source.substr(at + 1, digits);
      if (word.size() != digits || word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        fail("line {}: \\{} needs {} hexadecimal digits", line, c, digits);
      addCodePoint(text, static_cast<uint32_t>(std::stoul(word, nullptr, 16)));
      return step(digits);
    }
    if (c == '\n')
      return; // the line goes on
    const size_t found = kNames.find(c);
    if (found == std::string_view::npos)
      text += '\\';
    text += found == std::string_view::npos ? c : kMeant[found];
  }

  std::string source;
  std::vector<TemplateToken> tokens;
  size_t at = 0;
  int line = 1, depth = 0;
  bool beginsLine = true; ///< a line of the template begins where the text does
};

} // namespace

std::vector<TemplateToken> templateTokens(std::string source) { return Lexer(std::move(source)).run(); }

} // namespace kedge::driver
