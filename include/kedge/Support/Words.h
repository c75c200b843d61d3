// Enumerations that users give as words: one list of spellings for flags, options of passes and messages.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge {

template <typename Enum> struct Word {
  Enum value;
  const char *text, *meaning;
};

/// `list`: the words of an enumeration, in the order of its help. Specialized where the enumeration is.
template <typename Enum> struct Words;

template <typename Enum> constexpr const char *wordOf(Enum value) {
  for (const Word<Enum> &word : Words<Enum>::list)
    if (word.value == value)
      return word.text;
  return "";
}

template <typename Enum> constexpr std::optional<Enum> valueNamed(std::string_view text) {
  for (const Word<Enum> &word : Words<Enum>::list)
    if (word.text == text)
      return word.value;
  return std::nullopt;
}

/// `text` is one of the words: who reads it has checked that.
template <typename Enum> constexpr Enum valueOf(std::string_view text) {
  return valueNamed<Enum>(text).value_or(Words<Enum>::list[0].value);
}

template <typename Enum> std::vector<Enum> valuesOfWords(const std::vector<std::string> &texts) {
  std::vector<Enum> values;
  for (const std::string &text : texts)
    values.push_back(valueOf<Enum>(text));
  return values;
}

template <typename Enum> std::vector<std::string> wordsOf() {
  std::vector<std::string> words;
  for (const Word<Enum> &word : Words<Enum>::list)
    words.push_back(word.text);
  return words;
}

template <typename Enum> std::vector<std::string> wordsOf(const std::vector<Enum> &values) {
  std::vector<std::string> words;
  for (Enum value : values)
    words.push_back(wordOf(value));
  return words;
}

} // namespace kedge
