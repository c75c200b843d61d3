// The ranges of all options that take numbers, of the compiler as of programs: one table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace kedge::rt {

/// Which ends belong to a range: both; not the low one; not the high one.
enum class RangeEnds : uint8_t { Both, Above, Below };

struct NumberRange {
  const char *flag;
  bool whole;       ///< no fractions
  double low, high;
  RangeEnds ends = RangeEnds::Both;
  const char *also = nullptr; ///< a word that stands for a number
};

/// Null for a flag that takes no number.
const NumberRange *rangeOf(std::string_view flag);
/// "a whole number from 1 to 4096", "a number above 0, at most 1e+38".
std::string rangeText(const NumberRange &range);
/// Empty when `text` is a number in the range, written in decimals; else "expected ..., found ...".
std::string outOfRange(const NumberRange &range, std::string_view text);

/// Every option of `app` that takes numbers refuses what is outside its range. One that has no row in the table is an
/// error of ours: it would take nan.
void checkNumbers(CLI::App &app);

} // namespace kedge::rt
