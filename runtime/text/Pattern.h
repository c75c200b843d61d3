// Regular expressions as tokenizer.json has them, where `tokenizers` asks the library Oniguruma: the part of
// its syntax that tokenizers use. Every match is the one that trying the alternatives in their order finds
// first.
#pragma once
#include "runtime/text/CharacterSet.h"
#include <string_view>

namespace kedge::rt {

class Pattern {
public:
  /// Throws rt::RuntimeError that says which part of the pattern is not available.
  explicit Pattern(std::string_view text);

  /// The first match at or behind `from`; false if there is none. Matches of nothing do not count.
  bool find(std::string_view text, size_t from, size_t &begin, size_t &end) const;

  struct Instruction {
    enum Kind : uint8_t {
      Set,     ///< one character of `set`
      Repeat,  ///< of `set`, from `least` to `most`
      Split,   ///< go on behind this; if that fails at `target`
      Later,   ///< go on at `target`; if that fails behind this
      Jump,    ///< to `target`
      Ahead,   ///< what follows, up to `target`, matches here, and takes nothing
      Without, ///< it does not match here
      Atomic,  ///< it matches here as it does first
      Behind,  ///< the character before is of `set`; with `most` 0: is not
      Begin,   ///< of a line
      End,     ///< of a line
      Match
    };
    enum Manner : uint8_t { Greedy, Lazy, Possessive };
    Kind kind;
    Manner manner = Greedy;
    uint32_t set = 0, target = 0;
    uint32_t least = 0, most = 0;
  };
  static constexpr uint32_t kUnbounded = UINT32_MAX;

private:
  friend class PatternParser;
  friend class PatternRun;

  std::vector<Instruction> code;
  std::vector<CharacterSet> sets;
};

} // namespace kedge::rt
