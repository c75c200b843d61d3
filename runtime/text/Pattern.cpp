#include "runtime/text/Pattern.h"
#include "runtime/text/PatternParser.h"
#include "runtime/text/Utf8.h"

namespace kedge::rt {

using Instruction = Pattern::Instruction;

/// One attempt to match at a place. What was not tried yet lies on a stack.
class PatternRun {
public:
  PatternRun(const Pattern &pattern, std::string_view text) : pattern(pattern), text(text) {}

  /// Whether the code from `pc` to its Match fits at `at`; then `at` is the end.
  bool run(size_t pc, size_t &at);

private:
  /// Goes on at `pc` from `at`; of a greedy repetition also from each character before down to `least`, of a
  /// lazy one also from each behind up to `most` characters more.
  struct Choice {
    size_t pc, at, least;
    uint32_t set, more;
  };

  bool step(size_t &pc, size_t &at);
  bool repeat(const Instruction &now, size_t pc, size_t &at);
  bool apart(const Instruction &now, size_t &pc, size_t &at);
  bool isBehind(const Instruction &now, size_t at) const;
  bool goBack(size_t bottom, size_t &pc, size_t &at);
  bool lengthen(Choice &choice) const;
  const CharacterSet &set(uint32_t index) const { return pattern.sets[index]; }

  const Pattern &pattern;
  std::string_view text;
  std::vector<Choice> choices;
};

bool PatternRun::run(size_t pc, size_t &at) {
  const size_t bottom = choices.size();
  while (pattern.code[pc].kind != Instruction::Match)
    if (!step(pc, at) && !goBack(bottom, pc, at))
      return false;
  choices.resize(bottom);
  return true;
}

/// One instruction; false if it does not fit.
bool PatternRun::step(size_t &pc, size_t &at) {
  const Instruction &now = pattern.code[pc];
  switch (now.kind) {
  case Instruction::Set:
    ++pc;
    return at < text.size() && set(now.set).contains(nextCharacter(text, at));
  case Instruction::Repeat:
    return repeat(now, ++pc, at);
  case Instruction::Split:
    choices.push_back({now.target, at, at, 0, 0});
    ++pc;
    return true;
  case Instruction::Later:
    choices.push_back({pc + 1, at, at, 0, 0});
    pc = now.target;
    return true;
  case Instruction::Jump:
    pc = now.target;
    return true;
  case Instruction::Behind:
    ++pc;
    return isBehind(now, at);
  case Instruction::Begin:
    ++pc;
    return at == 0 || text[at - 1] == '\n';
  case Instruction::End:
    ++pc;
    return at == text.size() || text[at] == '\n';
  default:
    return apart(now, pc, at);
  }
}

bool PatternRun::isBehind(const Instruction &now, size_t at) const {
  if (at == 0)
    return now.most == 0;
  size_t before = characterBefore(text, at);
  return set(now.set).contains(nextCharacter(text, before)) == (now.most != 0);
}

bool PatternRun::repeat(const Instruction &now, size_t pc, size_t &at) {
  const CharacterSet &wanted = set(now.set);
  size_t shortest = at, end = at;
  const uint32_t most = now.manner == Instruction::Lazy ? now.least : now.most;
  uint32_t count = 0;
  for (size_t next = at; count < most && next < text.size(); ++count) {
    if (!wanted.contains(nextCharacter(text, next)))
      break;
    end = next;
    if (count + 1 == now.least)
      shortest = next;
  }
  if (count < now.least)
    return false;
  if (now.manner == Instruction::Greedy && end > shortest)
    choices.push_back({pc, end, shortest, now.set, 0});
  else if (now.manner == Instruction::Lazy && now.most > now.least)
    choices.push_back(
        {pc, end, end, now.set, now.most == Pattern::kUnbounded ? now.most : now.most - now.least});
  at = end;
  return true;
}

/// What is matched by itself.
bool PatternRun::apart(const Instruction &now, size_t &pc, size_t &at) {
  size_t end = at;
  const bool found = run(pc + 1, end);
  if (found == (now.kind == Instruction::Without))
    return false;
  if (now.kind == Instruction::Atomic)
    at = end;
  pc = now.target;
  return true;
}

/// The last choice that is left, from here on.
bool PatternRun::goBack(size_t bottom, size_t &pc, size_t &at) {
  while (choices.size() > bottom) {
    Choice &choice = choices.back();
    pc = choice.pc;
    if (choice.more != 0) {
      if (lengthen(choice)) {
        at = choice.at;
        return true;
      }
      choices.pop_back();
      continue;
    }
    const bool shortens = choice.at > choice.least;
    if (shortens)
      choice.at = characterBefore(text, choice.at);
    at = choice.at;
    if (!shortens || choice.at == choice.least)
      choices.pop_back();
    return true;
  }
  return false;
}

bool PatternRun::lengthen(Choice &choice) const {
  if (choice.at >= text.size() || !set(choice.set).contains(nextCharacter(text, choice.at)))
    return false;
  choice.more -= choice.more != Pattern::kUnbounded;
  return true;
}

Pattern::Pattern(std::string_view text) { PatternParser(text, *this).parse(); }

bool Pattern::find(std::string_view text, size_t from, size_t &begin, size_t &end) const {
  PatternRun run(*this, text);
  for (begin = from; begin < text.size(); begin += characterBytes(text[begin])) {
    end = begin;
    if (run.run(0, end) && end > begin)
      return true;
  }
  return false;
}

} // namespace kedge::rt
