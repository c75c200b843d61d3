#include "runtime/text/Normalizer.h"
#include "runtime/text/ByteLetters.h"
#include "runtime/text/CharsMap.h"
#include "runtime/text/Pattern.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include <optional>

namespace kedge::rt {
namespace {

/// A step that is a function of the text.
template <typename Function> class NormalizerFunction : public NormalizerStep {
public:
  explicit NormalizerFunction(Function function) : function(std::move(function)) {}
  std::string apply(std::string_view text) const override { return function(text); }

private:
  Function function;
};

template <typename Function> std::unique_ptr<NormalizerStep> normalizerStep(Function function) {
  return std::make_unique<NormalizerFunction<Function>>(std::move(function));
}

/// Calls append(result, character) for each character.
template <typename Append> std::string eachCharacter(std::string_view text, Append &&append) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();)
    append(result, nextCharacter(text, at));
  return result;
}

std::string without(std::string_view text, uint32_t bits) {
  return eachCharacter(text, [&](std::string &result, char32_t c) {
    if ((propertiesOf(c) & bits) == 0)
      appendCharacter(result, c);
  });
}

std::string lowercase(std::string_view text) { return eachCharacter(text, appendLowercase); }

bool isChinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (const auto &[first, last] : kRanges)
    if (c >= first && c <= last)
      return true;
  return false;
}

std::string cleanText(std::string_view text) {
  return eachCharacter(text, [](std::string &result, char32_t c) {
    const uint32_t bits = propertiesOf(c);
    if (c == 0 || bits & kBertRemoved)
      return;
    appendCharacter(result, bits & kBertSpace ? U' ' : c);
  });
}

std::string apartChinese(std::string_view text) {
  return eachCharacter(text, [](std::string &result, char32_t c) {
    const bool apart = isChinese(c);
    if (apart)
      result += ' ';
    appendCharacter(result, c);
    if (apart)
      result += ' ';
  });
}

/// The characters that SentencePiece's nmt rules drop, or make a space of.
std::string nmt(std::string_view text) {
  return eachCharacter(text, [](std::string &result, char32_t c) {
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f)
      return;
    const bool space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xfeff || c == 0xfffd;
    appendCharacter(result, space ? U' ' : c);
  });
}

std::string stripSpaces(std::string_view text, bool left, bool right) {
  const auto isSpace = [](std::string_view at) {
    size_t begin = 0;
    return (propertiesOf(nextCharacter(at, begin)) & kSpace) != 0;
  };
  while (left && !text.empty() && isSpace(text))
    text.remove_prefix(characterBytes(text[0]));
  while (right && !text.empty() && isSpace(text.substr(characterBefore(text, text.size()))))
    text = text.substr(0, characterBefore(text, text.size()));
  return std::string(text);
}

std::string replaceText(std::string_view text, std::string_view old, std::string_view content) {
  std::string result;
  size_t at = 0;
  for (size_t found = text.find(old); found != std::string_view::npos; found = text.find(old, at)) {
    result.append(text.substr(at, found - at)).append(content);
    at = found + old.size();
  }
  return result.append(text.substr(at));
}

std::string replaceMatches(std::string_view text, const Pattern &pattern, std::string_view content) {
  std::string result;
  size_t at = 0, begin = 0, end = 0;
  while (pattern.find(text, at, begin, end)) {
    result.append(text.substr(at, begin - at)).append(content);
    at = end;
  }
  return result.append(text.substr(at));
}

std::unique_ptr<NormalizerStep> replaceStep(const TokenizerPart &part) {
  const TokenizerPart pattern = part.part("pattern");
  const std::string content = part.text("content");
  if (pattern.has("Regex"))
    return normalizerStep([pattern = Pattern(pattern.text("Regex")), content](std::string_view text) {
      return replaceMatches(text, pattern, content);
    });
  const std::string old = pattern.text("String");
  if (old.empty())
    part.notAvailable("an empty pattern");
  return normalizerStep([old, content](std::string_view text) { return replaceText(text, old, content); });
}

std::unique_ptr<NormalizerStep> bertStep(const TokenizerPart &part) {
  const bool lower = part.flagOr("lowercase", true), cleans = part.flagOr("clean_text", true),
             chinese = part.flagOr("handle_chinese_chars", true),
             accents = part.flagOr("strip_accents", lower);
  return normalizerStep([=](std::string_view given) {
    std::string text(given);
    if (cleans)
      text = cleanText(text);
    if (chinese)
      text = apartChinese(text);
    if (accents)
      text = without(normalForm(text, NormalForm::NFD), kBertMark);
    return lower ? lowercase(text) : text;
  });
}

std::optional<NormalForm> formNamed(std::string_view name) {
  if (name == "NFC")
    return NormalForm::NFC;
  if (name == "NFD")
    return NormalForm::NFD;
  if (name == "NFKC")
    return NormalForm::NFKC;
  if (name == "NFKD")
    return NormalForm::NFKD;
  return std::nullopt;
}

std::unique_ptr<NormalizerStep> normalizerOf(const TokenizerPart &part) {
  const std::string type = part.type();
  if (const auto form = formNamed(type))
    return normalizerStep([form = *form](std::string_view text) { return normalForm(text, form); });
  if (type == "Lowercase")
    return normalizerStep(lowercase);
  if (type == "StripAccents")
    return normalizerStep([](std::string_view text) { return without(text, kAccent); });
  if (type == "Strip")
    return normalizerStep([left = part.flagOr("strip_left", true), right = part.flagOr("strip_right", true)](
                              std::string_view text) { return stripSpaces(text, left, right); });
  if (type == "Replace")
    return replaceStep(part);
  if (type == "Prepend")
    return normalizerStep([prefix = part.text("prepend")](std::string_view text) {
      return text.empty() ? std::string() : prefix + std::string(text);
    });
  if (type == "BertNormalizer")
    return bertStep(part);
  if (type == "Precompiled")
    return normalizerStep([map = CharsMap(part.textOr("precompiled_charsmap", ""), part.where())](
                              std::string_view text) { return map.apply(text); });
  if (type == "Nmt")
    return normalizerStep(nmt);
  if (type == "ByteLevel")
    return normalizerStep(byteLetters);
  part.notAvailable("a normalizer of type '" + type + "'");
}

} // namespace

void Normalizer::read(const TokenizerPart &part) {
  eachStep(part, "normalizers", [&](const TokenizerPart &one) { steps.push_back(normalizerOf(one)); });
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const auto &one : steps)
    result = one->apply(result);
  return result;
}

} // namespace kedge::rt
