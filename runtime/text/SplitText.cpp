#include "runtime/text/SplitText.h"
#include <algorithm>

namespace kedge::rt {
namespace {

std::string_view joinedParts(std::string_view first, std::string_view second) {
  return {first.data(), first.size() + second.size()};
}

/// A match joins the part before it unless that is one, too.
void mergeWithPrevious(std::vector<TextPart> &parts) {
  size_t kept = 0;
  for (bool before = false; const TextPart part : std::vector(parts)) {
    if (part.match && !before && kept > 0)
      parts[kept - 1].text = joinedParts(parts[kept - 1].text, part.text);
    else
      parts[kept++] = part;
    before = part.match;
  }
  parts.resize(kept);
}

/// A match joins the part behind it unless that is one, too.
void mergeWithNext(std::vector<TextPart> &parts) {
  std::vector<TextPart> kept; // from the last to the first
  bool behind = false;
  for (size_t at = parts.size(); at-- > 0;) {
    if (parts[at].match && !behind && !kept.empty())
      kept.back().text = joinedParts(parts[at].text, kept.back().text);
    else
      kept.push_back(parts[at]);
    behind = parts[at].match;
  }
  std::reverse(kept.begin(), kept.end());
  parts = std::move(kept);
}

void mergeMatches(std::vector<TextPart> &parts) {
  size_t kept = 0;
  for (const TextPart part : std::vector(parts))
    if (kept > 0 && parts[kept - 1].match == part.match)
      parts[kept - 1].text = joinedParts(parts[kept - 1].text, part.text);
    else
      parts[kept++] = part;
  parts.resize(kept);
}

} // namespace

Separator separatorOf(const TokenizerPart &part) {
  const std::string name = part.textOr("behavior", "Isolated");
  constexpr std::pair<const char *, Separator> kNames[] = {
      {"Removed", Separator::Removed},
      {"Isolated", Separator::Isolated},
      {"MergedWithPrevious", Separator::MergedWithPrevious},
      {"MergedWithNext", Separator::MergedWithNext},
      {"Contiguous", Separator::Contiguous}};
  for (const auto &[known, separator] : kNames)
    if (name == known)
      return separator;
  part.notAvailable("the behavior '" + name + "'");
}

std::vector<TextPart> partsOf(std::string_view text, const Pattern &pattern) {
  std::vector<TextPart> parts;
  size_t at = 0, begin = 0, end = 0;
  while (pattern.find(text, at, begin, end)) {
    if (at < begin)
      parts.push_back({text.substr(at, begin - at), false});
    parts.push_back({text.substr(begin, end - begin), true});
    at = end;
  }
  if (at < text.size())
    parts.push_back({text.substr(at), false});
  return parts;
}

std::vector<TextPart> partsOf(std::string_view text, std::string_view literal) {
  std::vector<TextPart> parts;
  size_t at = 0;
  for (size_t found = text.find(literal); found != std::string_view::npos; found = text.find(literal, at)) {
    if (at < found)
      parts.push_back({text.substr(at, found - at), false});
    parts.push_back({text.substr(found, literal.size()), true});
    at = found + literal.size();
  }
  if (at < text.size())
    parts.push_back({text.substr(at), false});
  return parts;
}

void addPieces(std::vector<TextPart> parts, Separator separator, TextPiece whole,
               std::vector<TextPiece> &result) {
  if (separator == Separator::MergedWithPrevious)
    mergeWithPrevious(parts);
  else if (separator == Separator::MergedWithNext)
    mergeWithNext(parts);
  else if (separator == Separator::Contiguous)
    mergeMatches(parts);
  for (const TextPart &part : parts)
    if (separator != Separator::Removed || !part.match)
      result.push_back({part.text, whole.first && part.text.data() == whole.text.data()});
}

} // namespace kedge::rt
