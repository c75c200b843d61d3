// Ranges of numeric options: one table of those that programs and checkpoints have, of which some are the
// compiler's, too. The compiler's own options say their ranges where they are declared.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace kedge::rt {

/// Which ends belong to a range: both; not the lower one; not the upper one.
enum class RangeEnds : uint8_t { Both, Above, Below };

struct NumberRange {
  const char *flag;
  bool whole; ///< integers only
  double low, high;
  RangeEnds ends = RangeEnds::Both;
  const char *also = nullptr; ///< a word that may be given in place of a number
};

/// The scalars of a step's update and of their schedule. The compiler's options of these names are the
/// defaults of the program's.
std::span<const char *const> scalarFlags();
/// Null if the flag does not take a number.
const NumberRange *rangeOf(std::string_view flag);
/// "a whole number from 1 to 4096", "a number above 0, at most 1e+38".
std::string rangeText(const NumberRange &range);
/// The number that `text` is, in decimals and without a locale; nothing else, no nan and no inf.
std::optional<double> decimalIn(std::string_view text);
bool isWithin(const NumberRange &range, double value);
/// Empty if `text` is a decimal number in the range; otherwise "expected ..., found ...".
std::string outOfRange(const NumberRange &range, std::string_view text);

/// Makes `option` refuse values outside `range`.
CLI::Option *checkNumber(CLI::Option *option, const NumberRange &range);
/// Makes every numeric option of `app` refuse values outside its range. An option
/// that has neither a range nor an entry in the table is an internal error, because it would accept nan.
void checkNumbers(CLI::App &app);

} // namespace kedge::rt
