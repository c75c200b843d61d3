#include "driver/chat/TemplateText.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <array>

namespace kedge::driver {
namespace {

/// str.isspace() of a character.
bool isWhite(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
  }
  static constexpr std::array<std::string_view, 19> kWide = {
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  return std::find(kWide.begin(), kWide.end(), character) != kWide.end();
}

bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool isLower(char c) { return c >= 'a' && c <= 'z'; }

} // namespace

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      ++end;
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

std::string stripped(std::string_view text, TextSide side, const std::optional<std::string> &drop) {
  const std::vector<std::string_view> all = characters(text);
  const std::vector<std::string_view> dropped = drop ? characters(*drop) : std::vector<std::string_view>();
  const auto goes = [&](std::string_view one) {
    return drop ? std::find(dropped.begin(), dropped.end(), one) != dropped.end() : isWhite(one);
  };
  size_t first = 0, end = all.size();
  while (side != TextSide::Right && first < end && goes(all[first]))
    ++first;
  while (side != TextSide::Left && end > first && goes(all[end - 1]))
    --end;
  return first == end ? "" : std::string(all[first].data(), all[end - 1].data() + all[end - 1].size());
}

std::vector<std::string> split(std::string_view text, const std::optional<std::string> &separator,
                               int64_t most) {
  std::vector<std::string> parts;
  if (separator) {
    if (separator->empty())
      fail("split at an empty text");
    for (size_t found = text.find(*separator);
         found != std::string_view::npos && (most < 0 || static_cast<int64_t>(parts.size()) < most);
         found = text.find(*separator)) {
      parts.emplace_back(text.substr(0, found));
      text.remove_prefix(found + separator->size());
    }
    parts.emplace_back(text);
    return parts;
  }
  if (most >= 0)
    fail("split at white space with a limit is not available yet");
  std::string word;
  for (const std::string_view one : characters(text))
    if (!isWhite(one))
      word += one;
    else if (!word.empty())
      parts.push_back(std::move(word)), word.clear();
  if (!word.empty())
    parts.push_back(std::move(word));
  return parts;
}

std::vector<std::string> splitLines(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kEnds = {"\n",   "\r",   "\v",     "\f",     "\x1c",
                                                             "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"};
  std::vector<std::string> lines;
  const std::vector<std::string_view> all = characters(text);
  std::string line;
  for (size_t at = 0; at < all.size(); ++at) {
    if (std::find(kEnds.begin(), kEnds.end(), all[at]) == kEnds.end()) {
      line += all[at];
      continue;
    }
    at += all[at] == "\r" && at + 1 < all.size() && all[at + 1] == "\n" ? 1 : 0;
    lines.push_back(std::move(line));
    line.clear();
  }
  if (!line.empty())
    lines.push_back(std::move(line));
  return lines;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t most) {
  if (from.empty())
    fail("replacing an empty text is not available yet");
  std::string result;
  for (size_t found = text.find(from); found != std::string_view::npos && most != 0;
       found = text.find(from), --most) {
    result += text.substr(0, found);
    result += to;
    text.remove_prefix(found + from.size());
  }
  return result += text;
}

std::string inCase(std::string_view text, TextCase wanted) {
  std::string result(text);
  bool inWord = false;
  for (char &c : result) {
    if (static_cast<unsigned char>(c) >= 0x80)
      fail("upper and lower case of letters that are not ASCII are not available yet");
    const bool isLetter = isUpper(c) || isLower(c);
    const bool upper = wanted == TextCase::Upper || (wanted == TextCase::Title && !inWord) ||
                       (wanted == TextCase::Capitalized && &c == result.data());
    if (isLetter)
      c = static_cast<char>(upper ? c & ~0x20 : c | 0x20);
    inWord = isLetter;
  }
  return result;
}

} // namespace kedge::driver
