#include "runtime/text/CharsMap.h"
#include "runtime/io/Error.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include <cstring>

namespace kedge::rt {
namespace {

std::string fromBase64(std::string_view text, const std::string &place) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=')
      break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0)
      fail("{}: expected base64 as 'precompiled_charsmap', found the byte {}", place, int{c});
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((count += 6) >= 8)
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> (count -= 8) & 0xff));
  }
  return bytes;
}

// A unit of the double array.
bool hasLeaf(uint32_t unit) { return (unit >> 8 & 1) == 1; }
uint32_t labelOf(uint32_t unit) { return unit & (1U << 31 | 0xff); }
uint32_t offsetOf(uint32_t unit) { return (unit >> 10) << ((unit & 1U << 9) >> 6); }

constexpr size_t kWholeBytes = 6; // graphemes of fewer bytes are looked up as a whole

enum class Jamo { None, Lead, Vowel, Trail, OpenSyllable, Syllable };

Jamo jamoOf(char32_t c) {
  if ((c >= 0x1100 && c <= 0x115f) || (c >= 0xa960 && c <= 0xa97c))
    return Jamo::Lead;
  if ((c >= 0x1160 && c <= 0x11a7) || (c >= 0xd7b0 && c <= 0xd7c6))
    return Jamo::Vowel;
  if ((c >= 0x11a8 && c <= 0x11ff) || (c >= 0xd7cb && c <= 0xd7fb))
    return Jamo::Trail;
  if (c >= 0xac00 && c <= 0xd7a3)
    return (c - 0xac00) % 28 == 0 ? Jamo::OpenSyllable : Jamo::Syllable;
  return Jamo::None;
}

/// Whether parts of a syllable of Hangul stay together.
bool joinsJamo(char32_t before, char32_t next) {
  const Jamo first = jamoOf(before), second = jamoOf(next);
  if (first == Jamo::Lead)
    return second != Jamo::None && second != Jamo::Trail;
  if (first == Jamo::Vowel || first == Jamo::OpenSyllable)
    return second == Jamo::Vowel || second == Jamo::Trail;
  return (first == Jamo::Trail || first == Jamo::Syllable) && second == Jamo::Trail;
}

bool joins(char32_t before, char32_t next) {
  if (before == '\r' && next == '\n')
    return true;
  const uint32_t first = propertiesOf(before), second = propertiesOf(next);
  if ((first | second) & kControls)
    return false;
  return (second & kExtends) != 0 || (first & kPrepends) != 0 || joinsJamo(before, next);
}

} // namespace

size_t graphemeEnd(std::string_view text, size_t at) {
  char32_t before = nextCharacter(text, at);
  while (at < text.size()) {
    size_t end = at;
    const char32_t next = nextCharacter(text, end);
    if (!joins(before, next))
      break;
    before = next;
    at = end;
  }
  return at;
}

CharsMap::CharsMap(std::string_view base64, const std::string &place) {
  const std::string bytes = fromBase64(base64, place);
  uint32_t size = 0;
  if (bytes.size() >= sizeof(size))
    std::memcpy(&size, bytes.data(), sizeof(size));
  if (bytes.size() < sizeof(size) || size > bytes.size() - sizeof(size) || size % sizeof(uint32_t) != 0)
    fail("{}: the 'precompiled_charsmap' of {} bytes is truncated", place, bytes.size());
  trie.resize(size / sizeof(uint32_t));
  std::memcpy(trie.data(), bytes.data() + sizeof(size), size);
  texts = bytes.substr(sizeof(size) + size);
}

std::optional<std::string_view> CharsMap::mapped(std::string_view part) const {
  if (trie.empty())
    return std::nullopt;
  size_t node = offsetOf(trie[0]);
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= trie.size() || labelOf(trie[node]) != byte)
      return std::nullopt;
    const uint32_t unit = trie[node];
    node ^= offsetOf(unit);
    if (!hasLeaf(unit))
      continue;
    const size_t begin = node < trie.size() ? trie[node] & ~(1U << 31) : texts.size();
    if (begin >= texts.size())
      return std::nullopt;
    return std::string_view(texts).substr(begin, std::strlen(texts.c_str() + begin));
  }
  return std::nullopt;
}

void CharsMap::appendGrapheme(std::string &result, std::string_view grapheme) const {
  if (grapheme.size() < kWholeBytes)
    if (const auto whole = mapped(grapheme)) {
      result += *whole;
      return;
    }
  for (size_t at = 0; at < grapheme.size();) {
    const std::string_view character = grapheme.substr(at, characterBytes(grapheme[at]));
    result += mapped(character).value_or(character);
    at += character.size();
  }
}

std::string CharsMap::apply(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = graphemeEnd(text, at);
    appendGrapheme(result, text.substr(at, end - at));
  }
  return result;
}

} // namespace kedge::rt
