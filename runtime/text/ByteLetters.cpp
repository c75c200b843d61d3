#include "runtime/text/ByteLetters.h"
#include "runtime/text/Utf8.h"
#include <array>
#include <cstdint>

namespace kedge::rt {
namespace {

constexpr char32_t kMoved = 256; // where the letters of bytes begin that cannot be shown

struct Letters {
  std::array<std::string, 256> ofByte;
  std::array<int16_t, 512> byteOf;

  Letters() {
    byteOf.fill(-1);
    for (char32_t byte = 0, moved = kMoved; byte < 256; ++byte) {
      const bool shown = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      const char32_t letter = shown ? byte : moved++;
      appendCharacter(ofByte[byte], letter);
      byteOf[letter] = static_cast<int16_t>(byte);
    }
  }
};

const Letters &letterTable() {
  static const Letters table;
  return table;
}

} // namespace

std::string byteLetters(std::string_view text) {
  const Letters &table = letterTable();
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (const char byte : text)
    result += table.ofByte[static_cast<unsigned char>(byte)];
  return result;
}

std::optional<char> byteOfLetter(char32_t letter) {
  const Letters &table = letterTable();
  if (letter >= table.byteOf.size() || table.byteOf[letter] < 0)
    return std::nullopt;
  return static_cast<char>(table.byteOf[letter]);
}

} // namespace kedge::rt
