#include "runtime/text/PatternParser.h"
#include "runtime/io/Error.h"
#include "runtime/text/Utf8.h"
#include <cctype>

namespace kedge::rt {

using Instruction = Pattern::Instruction;

namespace {

struct NamedProperty {
  std::string_view name;
  uint32_t bits;
};

constexpr NamedProperty kProperties[] = {
    {"L", kLetter},           {"Letter", kLetter},     {"Lu", kUpper},
    {"Ll", kLower},           {"Lt", kTitle},          {"Lm", kModifierLetter},
    {"Lo", kOtherLetter},     {"N", kNumber},          {"Number", kNumber},
    {"Nd", kDecimal},         {"P", kPunctuation},     {"Punctuation", kPunctuation},
    {"S", kSymbol},           {"Symbol", kSymbol},     {"M", kMark},
    {"Mark", kMark},          {"Mn", kNonspacingMark}, {"Z", kSeparator},
    {"Separator", kSeparator}};

constexpr uint32_t kAllCategories = kLetter | kNumber | kPunctuation | kSymbol | kMark | kSeparator;

} // namespace

void PatternParser::refuse(std::string_view what) const {
  fail("the pattern '{}': {} (at character {}) is not available yet", text, what, at);
}

bool PatternParser::take(std::string_view word) {
  if (!text.substr(at).starts_with(word))
    return false;
  at += word.size();
  return true;
}

void PatternParser::expect(std::string_view word) {
  if (!take(word))
    fail("the pattern '{}': expected '{}' at character {}", text, word, at);
}

/// Whether the code may reach its end from `from` without taking a character.
static bool mayTakeNothing(const std::vector<Instruction> &code, size_t from = 0) {
  for (size_t at = from; at < code.size();) {
    const Instruction &now = code[at];
    switch (now.kind) {
    case Instruction::Set:
      return false;
    case Instruction::Repeat:
      if (now.least > 0)
        return false;
      ++at;
      break;
    case Instruction::Split:
    case Instruction::Later:
      if (mayTakeNothing(code, now.target))
        return true;
      ++at;
      break;
    case Instruction::Jump:
      if (now.target <= at) // a loop: what is behind it was looked at
        return false;
      at = now.target;
      break;
    case Instruction::Ahead:
    case Instruction::Without:
    case Instruction::Atomic:
      at = now.target;
      break;
    default:
      ++at;
    }
  }
  return true;
}

void PatternParser::parse() {
  if (text.find("(?i") != std::string_view::npos)
    for (const std::string_view two : {"ss", "SS", "st", "ST", "ff", "FF", "fi", "FI", "fl", "FL"})
      if (text.find(two) != std::string_view::npos)
        refuse(fmt::format("'{}', which may be one character, without regard to case", two));
  pattern.code = alternatives();
  if (!done())
    fail("the pattern '{}': a ')' without '(' at character {}", text, at);
  pattern.code.push_back({Instruction::Match});
}

/// Targets are relative to the code's own begin until it is put behind other code.
static void appendCode(std::vector<Instruction> &code, std::vector<Instruction> more) {
  const auto shift = static_cast<uint32_t>(code.size());
  for (Instruction &one : more)
    one.target += shift;
  code.insert(code.end(), more.begin(), more.end());
}

PatternParser::Code PatternParser::alternatives() {
  const bool outer = foldsCase;
  Code first = sequence();
  if (!take("|")) {
    foldsCase = outer;
    return first;
  }
  const Code rest = alternatives();
  foldsCase = outer;
  Code code{{.kind = Instruction::Split}};
  appendCode(code, first);
  code[0].target = static_cast<uint32_t>(code.size() + 1);
  code.push_back({.kind = Instruction::Jump});
  const size_t jump = code.size() - 1;
  appendCode(code, rest);
  code[jump].target = static_cast<uint32_t>(code.size());
  return code;
}

PatternParser::Code PatternParser::sequence() {
  Code code;
  while (!done() && text[at] != '|' && text[at] != ')') {
    Code next = item();
    for (;;) {
      const size_t before = at;
      const Bounds found = bounds();
      if (at == before)
        break;
      next = repeated(std::move(next), found);
    }
    appendCode(code, next);
  }
  return code;
}

PatternParser::Code PatternParser::item() {
  CharacterSet set;
  if (take("(?"))
    return group();
  if (take("(")) {
    Code code = alternatives();
    expect(")");
    return code;
  }
  if (take("["))
    return oneOf(brackets());
  if (take("."))
    set.add('\n', '\n'), set.negate();
  else if (take("^"))
    return {{.kind = Instruction::Begin}};
  else if (take("$"))
    return {{.kind = Instruction::End}};
  else if (take("\\"))
    addEscaped(set);
  else {
    if (text[at] == '*' || text[at] == '+' || text[at] == '?')
      refuse("a repetition of nothing");
    const char32_t literal = nextCharacter(text, at);
    set.add(literal, literal);
  }
  return oneOf(std::move(set));
}

PatternParser::Code PatternParser::oneOf(CharacterSet set) {
  if (foldsCase)
    set.ignoreCase();
  set.finish();
  pattern.sets.push_back(std::move(set));
  return {{.kind = Instruction::Set, .set = static_cast<uint32_t>(pattern.sets.size() - 1)}};
}

/// Behind `(?`.
PatternParser::Code PatternParser::group() {
  if (take("="))
    return apart(Instruction::Ahead);
  if (take("!"))
    return apart(Instruction::Without);
  if (take(">"))
    return apart(Instruction::Atomic);
  if (take("<=") || take("<!"))
    return behind();
  if (take(":")) {
    Code code = alternatives();
    expect(")");
    return code;
  }
  return withCase();
}

/// `(?i)` up to the end of the group, `(?i:...)`, and with `-i`.
PatternParser::Code PatternParser::withCase() {
  const bool outer = foldsCase;
  if (take("i"))
    foldsCase = true;
  else if (take("-i"))
    foldsCase = false;
  else
    refuse("this group");
  if (take(")"))
    return {};
  expect(":");
  Code code = alternatives();
  expect(")");
  foldsCase = outer;
  return code;
}

PatternParser::Code PatternParser::apart(Instruction::Kind kind) {
  Code code{{.kind = kind}};
  appendCode(code, alternatives());
  expect(")");
  code.push_back({Instruction::Match});
  code[0].target = static_cast<uint32_t>(code.size());
  return code;
}

PatternParser::Code PatternParser::behind() {
  const bool wanted = text[at - 1] == '=';
  Code code = alternatives();
  expect(")");
  if (code.size() != 1 || code[0].kind != Instruction::Set)
    refuse("a test of more than one earlier character");
  code[0].kind = Instruction::Behind;
  code[0].most = wanted ? 1 : 0;
  return code;
}

PatternParser::Bounds PatternParser::bounds() {
  Bounds found;
  bool plus = true;
  if (take("*"))
    found = {0, Pattern::kUnbounded};
  else if (take("+"))
    found = {1, Pattern::kUnbounded};
  else if (take("?"))
    found = {0, 1};
  else if (!done() && text[at] == '{' && counted(found))
    plus = false;
  else
    return found;
  if (take("?"))
    found.manner = Instruction::Lazy;
  else if (plus && take("+"))
    found.manner = Instruction::Possessive;
  return found;
}

uint32_t PatternParser::number() {
  uint32_t value = 0;
  while (!done() && std::isdigit(static_cast<unsigned char>(text[at])))
    value = value * 10 + static_cast<uint32_t>(text[at++] - '0');
  return value;
}

/// `{2}`, `{2,}`, `{,3}`, `{1,3}`; false if the brace stands for itself.
bool PatternParser::counted(Bounds &found) {
  const size_t begin = at++;
  const size_t digits = at;
  found.least = number();
  found.most = found.least;
  bool any = at > digits;
  if (take(",")) {
    const size_t second = at;
    found.most = number();
    if (at == second)
      found.most = Pattern::kUnbounded;
    any |= at > second;
  }
  if (any && take("}"))
    return true;
  at = begin;
  found = {};
  return false;
}

PatternParser::Code PatternParser::repeated(Code what, Bounds bounds) const {
  if (bounds.least == 1 && bounds.most == 1)
    return what;
  if (what.size() == 1 && what[0].kind == Instruction::Set) {
    what[0].kind = Instruction::Repeat;
    what[0].manner = bounds.manner;
    what[0].least = bounds.least;
    what[0].most = bounds.most;
    return what;
  }
  if (bounds.most == Pattern::kUnbounded && mayTakeNothing(what))
    refuse("a repetition of what may be nothing");
  constexpr uint32_t kMostCopies = 1000; // of a group
  if (bounds.least > kMostCopies || (bounds.most > kMostCopies && bounds.most != Pattern::kUnbounded))
    refuse("so many repetitions of a group");
  Code code;
  for (uint32_t i = 0; i < bounds.least; ++i)
    appendCode(code, what);
  const auto choice = bounds.manner == Instruction::Lazy ? Instruction::Later : Instruction::Split;
  const auto length = static_cast<uint32_t>(what.size());
  const bool open = bounds.most == Pattern::kUnbounded;
  for (uint32_t i = bounds.least; open ? i == bounds.least : i < bounds.most; ++i) {
    const auto begin = static_cast<uint32_t>(code.size());
    code.push_back({.kind = choice, .target = begin + length + 1 + (open ? 1 : 0)});
    appendCode(code, what);
    if (open)
      code.push_back({.kind = Instruction::Jump, .target = begin});
  }
  if (bounds.manner != Instruction::Possessive)
    return code;
  Code atomic{{.kind = Instruction::Atomic}};
  appendCode(atomic, code);
  atomic.push_back({Instruction::Match});
  atomic[0].target = static_cast<uint32_t>(atomic.size());
  return atomic;
}

/// Behind `[`.
CharacterSet PatternParser::brackets() {
  CharacterSet set;
  if (take("^"))
    set.negate();
  if (take("]"))
    set.add(']', ']');
  while (!take("]")) {
    if (done())
      fail("the pattern '{}': a '[' without ']'", text);
    if (take("&&"))
      refuse("an intersection of sets");
    addPart(set);
  }
  return set;
}

/// A set within brackets, a class, a character or a range.
void PatternParser::addPart(CharacterSet &set) {
  if (text.substr(at).starts_with("[:"))
    refuse("a POSIX class");
  if (take("[")) {
    CharacterSet inner = brackets();
    inner.finish();
    return set.addSet(std::move(inner));
  }
  char32_t first = 0;
  if (take("\\")) {
    if (done())
      refuse("a '\\' at the end");
    if (addClass(set, text[at]))
      return;
    first = escaped();
  } else {
    first = nextCharacter(text, at);
  }
  char32_t last = first;
  if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') {
    ++at;
    last = take("\\") ? escaped() : nextCharacter(text, at);
  }
  set.add(first, last);
}

/// Behind `\`, outside of brackets.
void PatternParser::addEscaped(CharacterSet &set) {
  if (done())
    refuse("a '\\' at the end");
  if (addClass(set, text[at]))
    return;
  const char32_t literal = escaped();
  set.add(literal, literal);
}

/// A class that an escaped letter stands for; false if it is a character.
bool PatternParser::addClass(CharacterSet &set, char letter) {
  const auto lower = static_cast<char>(std::tolower(letter));
  const uint32_t bits = lower == 's' ? kSpace : lower == 'w' ? kWord : lower == 'd' ? kDecimal : 0U;
  if (bits == 0 && lower != 'p')
    return false;
  ++at;
  if (bits == 0)
    addProperty(set, letter == 'P');
  else if (letter == lower)
    set.addProperties(bits);
  else
    set.addComplement(bits);
  return true;
}

void PatternParser::addProperty(CharacterSet &set, bool outside) {
  expect("{");
  const bool caret = take("^");
  const size_t end = text.find('}', at);
  if (end == std::string_view::npos)
    fail("the pattern '{}': a '{{' without '}}'", text);
  const std::string_view name = text.substr(at, end - at);
  at = end + 1;
  if (name == "C" || name == "Other")
    return outside != caret ? set.addProperties(kAllCategories) : set.addComplement(kAllCategories);
  for (const NamedProperty &property : kProperties)
    if (property.name == name)
      return outside != caret ? set.addComplement(property.bits) : set.addProperties(property.bits);
  refuse(fmt::format("the property '{}'", name));
}

char32_t PatternParser::hexadecimal() {
  const bool braces = take("{");
  char32_t value = 0;
  for (int digits = 0;
       !done() && std::isxdigit(static_cast<unsigned char>(text[at])) && (braces || digits < 4); ++digits)
    value = value * 16 + static_cast<char32_t>(std::stoi(std::string(1, text[at++]), nullptr, 16));
  if (braces)
    expect("}");
  return value;
}

/// The character that follows a `\`.
char32_t PatternParser::escaped() {
  if (done())
    refuse("a '\\' at the end");
  const char letter = text[at];
  if (!std::isalnum(static_cast<unsigned char>(letter)))
    return nextCharacter(text, at);
  ++at;
  switch (letter) {
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 't':
    return '\t';
  case 'f':
    return '\f';
  case 'v':
    return '\v';
  case 'u':
    return hexadecimal();
  case 'x':
    if (!done() && text[at] == '{')
      return hexadecimal();
    [[fallthrough]];
  default:
    refuse(fmt::format("'\\{}'", letter));
  }
}

} // namespace kedge::rt
