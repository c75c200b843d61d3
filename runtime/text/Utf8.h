// Characters of text that is known to be UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace kedge::rt {

/// The character at `at`, which moves behind it.
inline char32_t nextCharacter(std::string_view text, size_t &at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80)
    return text[at++];
  char32_t character = 0;
  if (first < 0xe0) {
    character = (first & 0x1fU) << 6 | (byte(at + 1) & 0x3fU);
    at += 2;
  } else if (first < 0xf0) {
    character = (first & 0x0fU) << 12 | (byte(at + 1) & 0x3fU) << 6 | (byte(at + 2) & 0x3fU);
    at += 3;
  } else {
    character = (first & 0x07U) << 18 | (byte(at + 1) & 0x3fU) << 12 | (byte(at + 2) & 0x3fU) << 6 |
                (byte(at + 3) & 0x3fU);
    at += 4;
  }
  return character;
}

/// Where the character before `at` begins.
inline size_t characterBefore(std::string_view text, size_t at) {
  do
    --at;
  while ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

/// How many bytes the character takes whose first byte this is.
inline size_t characterBytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

inline void appendCharacter(std::string &text, char32_t character) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (character < 0x80)
    return add(character);
  if (character < 0x800) {
    add(0xc0 | character >> 6);
  } else if (character < 0x10000) {
    add(0xe0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3f));
  } else {
    add(0xf0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3f));
    add(0x80 | (character >> 6 & 0x3f));
  }
  add(0x80 | (character & 0x3f));
}

} // namespace kedge::rt
