// From the text of a pattern to its instructions.
#pragma once
#include "runtime/text/Pattern.h"

namespace kedge::rt {

class PatternParser {
public:
  PatternParser(std::string_view text, Pattern &pattern) : text(text), pattern(pattern) {}
  void parse();

private:
  using Code = std::vector<Pattern::Instruction>;
  struct Bounds {
    uint32_t least = 1, most = 1;
    Pattern::Instruction::Manner manner = Pattern::Instruction::Greedy;
  };

  Code alternatives();
  Code sequence();
  Code item();
  Code group();
  Code behind();
  Code apart(Pattern::Instruction::Kind kind);
  Code withCase();
  Code oneOf(CharacterSet set);
  Code repeated(Code what, Bounds bounds) const;
  Bounds bounds();
  bool counted(Bounds &found);
  CharacterSet brackets();
  void addPart(CharacterSet &set);
  void addEscaped(CharacterSet &set);
  bool addClass(CharacterSet &set, char letter);
  void addProperty(CharacterSet &set, bool outside);
  char32_t escaped();
  char32_t hexadecimal();

  bool done() const { return at == text.size(); }
  bool take(std::string_view word);
  void expect(std::string_view word);
  uint32_t number();
  [[noreturn]] void refuse(std::string_view what) const;

  std::string_view text;
  Pattern &pattern;
  size_t at = 0;
  bool foldsCase = false;
};

} // namespace kedge::rt
