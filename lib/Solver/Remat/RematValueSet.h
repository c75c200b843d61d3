// A small set of values, as bits.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kedge::solver {

struct RematValueSet {
  static constexpr int capacity = 256;
  std::array<uint64_t, capacity / 64> words{};

  bool has(int value) const { return words[value / 64] >> (value % 64) & 1; }
  void add(int value) { words[value / 64] |= uint64_t{1} << (value % 64); }
  void remove(int value) { words[value / 64] &= ~(uint64_t{1} << (value % 64)); }
  bool operator==(const RematValueSet &) const = default;

  bool covers(const RematValueSet &other) const {
    for (size_t i = 0; i < words.size(); ++i)
      if (other.words[i] & ~words[i])
        return false;
    return true;
  }
  RematValueSet operator&(const RematValueSet &other) const {
    RematValueSet result;
    for (size_t i = 0; i < words.size(); ++i)
      result.words[i] = words[i] & other.words[i];
    return result;
  }
  template <class Visitor> void each(Visitor visit) const {
    for (size_t i = 0; i < words.size(); ++i)
      for (uint64_t left = words[i]; left; left &= left - 1)
        visit(static_cast<int>(64 * i) + std::countr_zero(left));
  }
};

} // namespace kedge::solver
