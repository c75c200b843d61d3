// The tables of characters, ready to be looked up.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace kedge::rt {

struct UnicodeData {
  UnicodeData();

  uint32_t bitsOf(char32_t character) const { return pages[pageOf[character >> 8]][character & 0xff]; }
  uint8_t classOf(char32_t character) const {
    const auto found = combining.find(character);
    return found == combining.end() ? 0 : found->second;
  }

  std::unordered_map<char32_t, char32_t> lowercase, uppercase;
  std::unordered_map<char32_t, std::u32string> canonical, compatible; ///< complete, marks in order
  std::unordered_map<uint64_t, char32_t>
      compositions; ///< of the first character's number << 32 | the second's
  std::unordered_map<char32_t, uint8_t> combining;

private:
  void readProperties();
  void readLowercase();
  void readDecompositions();
  void readCombining();
  void findCompositions();
  void set(char32_t character, uint32_t bits);

  std::array<uint16_t, 0x1100> pageOf{}; ///< page 0 has no bits
  std::vector<std::array<uint32_t, 256>> pages;
  std::vector<char32_t> composable;
};

/// Read once.
const UnicodeData &unicodeData();

} // namespace kedge::rt
