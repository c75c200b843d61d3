// GPT-2's letters for bytes: each byte is a printable character, so that any text is a word of letters.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kedge::rt {

/// The text's bytes, each as its letter.
std::string byteLetters(std::string_view text);
/// The byte that a letter stands for; nothing if it is none of the 256.
std::optional<char> byteOfLetter(char32_t letter);

} // namespace kedge::rt
