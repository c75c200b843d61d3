#include "runtime/text/AddedTokens.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

namespace kedge::rt {
namespace {

bool endsWith(std::string_view text, uint32_t property) {
  if (text.empty())
    return false;
  size_t at = characterBefore(text, text.size());
  return (propertiesOf(nextCharacter(text, at)) & property) != 0;
}

bool startsWith(std::string_view text, uint32_t property) {
  size_t at = 0;
  return !text.empty() && (propertiesOf(nextCharacter(text, at)) & property) != 0;
}

/// Where the spaces begin that `text` ends with.
size_t spacesBefore(std::string_view text) {
  while (endsWith(text, kSpace))
    text = text.substr(0, characterBefore(text, text.size()));
  return text.size();
}

/// How many bytes of spaces `text` begins with.
size_t spacesBehind(std::string_view text) {
  const size_t all = text.size();
  while (startsWith(text, kSpace))
    text.remove_prefix(characterBytes(text[0]));
  return all - text.size();
}

} // namespace

void TokenFinder::add(std::string pattern, const AddedToken &token) {
  if (pattern.empty())
    return;
  uint32_t node = 0;
  for (const char byte : pattern) {
    uint32_t next = 0;
    for (const auto &[known, target] : nodes[node].steps)
      if (known == byte)
        next = target;
    if (next == 0) {
      next = static_cast<uint32_t>(nodes.size());
      nodes[node].steps.emplace_back(byte, next);
      nodes.emplace_back();
    }
    node = next;
  }
  begins[static_cast<unsigned char>(pattern[0])] = true;
  if (nodes[node].found >= 0)
    return; // the first of equal ones counts
  nodes[node].found = static_cast<int32_t>(added.size());
  added.push_back(token);
}

const AddedToken *TokenFinder::longestAt(std::string_view text, size_t at, size_t &end) const {
  const AddedToken *longest = nullptr;
  for (uint32_t node = 0; at < text.size();) {
    uint32_t next = 0;
    for (const auto &[known, target] : nodes[node].steps)
      if (known == text[at])
        next = target;
    if (next == 0)
      break;
    node = next;
    ++at;
    if (nodes[node].found >= 0) {
      longest = &added[static_cast<size_t>(nodes[node].found)];
      end = at;
    }
  }
  return longest;
}

std::vector<MarkedPart> TokenFinder::find(std::string_view text) const {
  std::vector<MarkedPart> parts;
  size_t open = 0;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + 1;
    if (!begins[static_cast<unsigned char>(text[at])])
      continue;
    const AddedToken *found = longestAt(text, at, end);
    if (!found)
      continue;
    size_t begin = at, stop = end;
    if (found->singleWord &&
        (endsWith(text.substr(0, begin), kRustWord) || startsWith(text.substr(stop), kRustWord)))
      continue;
    if (found->takesLeft)
      begin = std::max(spacesBefore(text.substr(0, begin)), open);
    if (found->takesRight)
      stop += spacesBehind(text.substr(stop));
    if (open < begin)
      parts.push_back({text.substr(open, begin - open), std::nullopt});
    parts.push_back({text.substr(begin, stop - begin), found->token});
    open = stop;
  }
  if (open < text.size())
    parts.push_back({text.substr(open), std::nullopt});
  return parts;
}

void AddedTokens::read(const TokenizerPart &root, const TokenModel &model, const Normalizer &normalizer) {
  if (!root.has("added_tokens"))
    return;
  for (size_t at = 0; const nlohmann::json &one : root.list("added_tokens")) {
    const TokenizerPart part(one, fmt::format("{}.added_tokens[{}]", root.where(), at++));
    AddedToken token;
    token.text = part.text("content");
    token.special = part.flagOr("special", false);
    token.singleWord = part.flagOr("single_word", false);
    token.takesLeft = part.flagOr("lstrip", false);
    token.takesRight = part.flagOr("rstrip", false);
    token.normalized = part.flagOr("normalized", !token.special);
    const int64_t number = part.numberOr("id", -1);
    if (number < 0 || number > Vocabulary::kMost)
      fail("{}: expected the number of the token as 'id'", part.where());
    token.token = model.words().find(token.text).value_or(static_cast<uint32_t>(number));
    tokens.push_back(token);
    if (token.normalized)
      inNormalized.add(normalizer.apply(token.text), token);
    else
      inText.add(token.text, token);
  }
}

} // namespace kedge::rt
