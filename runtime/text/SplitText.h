// Cutting a text at matches: where the match itself goes.
#pragma once
#include "runtime/text/Pattern.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/Utf8.h"

namespace kedge::rt {

/// As `tokenizers` names them: the match is dropped, a piece of its own, part of the piece before or behind
/// it, or of one with the matches beside it.
enum class Separator { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Separator separatorOf(const TokenizerPart &part);

/// A match, or what lies between two.
struct TextPart {
  std::string_view text;
  bool match;
};

/// The matches of a pattern in a text, and what lies between them.
std::vector<TextPart> partsOf(std::string_view text, const Pattern &pattern);
std::vector<TextPart> partsOf(std::string_view text, std::string_view literal);
/// Each character is a match for which isMatch(character) is true.
template <typename Match> std::vector<TextPart> partsOfCharacters(std::string_view text, Match &&isMatch) {
  std::vector<TextPart> parts;
  size_t open = 0;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    if (!isMatch(nextCharacter(text, end)))
      continue;
    if (open < at)
      parts.push_back({text.substr(open, at - open), false});
    parts.push_back({text.substr(at, end - at), true});
    open = end;
  }
  if (open < text.size())
    parts.push_back({text.substr(open), false});
  return parts;
}

/// Adds the pieces that the parts of `whole` become.
void addPieces(std::vector<TextPart> parts, Separator separator, TextPiece whole,
               std::vector<TextPiece> &result);

} // namespace kedge::rt
