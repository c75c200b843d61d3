// Makes text from files and command lines safe to show on a terminal.
#pragma once
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace kedge::rt {

/// Bytes of the UTF-8 character at the start of `text`; 0 if there is none.
inline size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  if (text.empty())
    return 0;
  const unsigned first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xf0 && first < 0xf5 ? 4
                        : first >= 0xe0                 ? 3
                        : first >= 0xc2                 ? 2
                                                        : 0;
  if (length == 0 || first >= 0xf5 || length > text.size())
    return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xc0) != 0x80)
      return 0;
  const bool tooLong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool noCharacter = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return tooLong || noCharacter ? 0 : length;
}

inline bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8Length(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Replaces control characters and bytes that are not UTF-8 by escapes such as \x1b. Line ends and tabs stay.
/// Of words that are longer than any path, as a file may have them for names, the beginning and the length.
inline std::string printable(std::string_view text) {
  constexpr size_t longest = 4096;
  std::string shown;
  size_t word = 0; // its bytes so far
  const auto endWord = [&] {
    if (word > longest)
      shown += fmt::format("... ({} bytes)", word);
    word = 0;
  };
  while (!text.empty()) {
    if (text[0] == ' ' || text[0] == '\n' || text[0] == '\t')
      endWord();
    else if (++word > longest) {
      text.remove_prefix(1);
      continue;
    }
    const size_t length = utf8Length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool steers = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f ||
                        (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    const size_t taken = length == 0 ? 1 : length;
    for (size_t at = 0; at < taken; ++at)
      if (length == 0 || steers)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      else
        shown += text[at];
    text.remove_prefix(taken);
    word += taken > 1 ? taken - 1 : 0;
  }
  endWord();
  return shown;
}

} // namespace kedge::rt
