// What tokenizers need to know of characters: properties, lowercase, normal forms. As the package
// `tokenizers` answers them (scripts/make/make_unicode.py), which follows several versions of Unicode.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::rt {

/// Bits of a character, in the order of the table.
enum Property : uint32_t {
  kUpper = 1U << 0,
  kLower = 1U << 1,
  kTitle = 1U << 2,
  kModifierLetter = 1U << 3,
  kOtherLetter = 1U << 4,
  kDecimal = 1U << 5,
  kOtherNumber = 1U << 6,
  kPunctuation = 1U << 7,
  kSymbol = 1U << 8,
  kNonspacingMark = 1U << 9,
  kOtherMark = 1U << 10,
  kSeparator = 1U << 11,
  kSpace = 1U << 12,           ///< `\s`
  kWord = 1U << 13,            ///< `\w` of patterns in tokenizer.json
  kRustWord = 1U << 14,        ///< `\w` of the steps that are written in Rust
  kNumeric = 1U << 15,         ///< of the step Digits
  kBertPunctuation = 1U << 16, ///< of BERT's steps and of Punctuation
  kBertRemoved = 1U << 17,     ///< BERT's cleaning drops it,
  kBertSpace = 1U << 18,       ///< or makes a space of it
  kBertMark = 1U << 19,        ///< BERT's accents
  kAccent = 1U << 20,          ///< those of StripAccents
  kExtends = 1U << 21,         ///< joins the character before in a grapheme
  kPrepends = 1U << 22,        ///< joins the one behind
  kControls = 1U << 23,        ///< joins none
  kTableProperties = 1U << 24, ///< from here on derived from other tables
  kCanonical = kTableProperties,
  kCompatible = kTableProperties << 1,
  kUnstable = kTableProperties << 2, ///< not its own NFC
  kCombines = kTableProperties << 3, ///< has a combining class
  kComposes = kTableProperties << 4, ///< may join the character before when composed
};

constexpr uint32_t kLetter = kUpper | kLower | kTitle | kModifierLetter | kOtherLetter;
constexpr uint32_t kNumber = kDecimal | kOtherNumber;
constexpr uint32_t kMark = kNonspacingMark | kOtherMark;

/// The bits of a character.
uint32_t propertiesOf(char32_t character);

/// Lowercase, character by character.
void appendLowercase(std::string &text, char32_t character);
char32_t simpleLowercase(char32_t character);
/// A character that has this one as its lowercase form; itself if there is none.
char32_t simpleUppercase(char32_t character);

enum class NormalForm { NFC, NFD, NFKC, NFKD };
std::string normalForm(std::string_view text, NormalForm form);

} // namespace kedge::rt
