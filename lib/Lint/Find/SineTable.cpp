#include "lib/Lint/Find/SineTable.h"
#include "lib/Support/Error.h"
#include <cmath>
#include <functional>

namespace kedge::lint {
using model::Tensor;

namespace {

/// A table [rows, width] of doubles.
struct Table {
  std::vector<double> values;
  int64_t rows = 0, width = 0;
  double at(int64_t row, int64_t column) const { return values[row * width + column]; }
};

/// Frequency of pair i of n: base^(-i / n) or, as Whisper's and tensor2tensor's, base^(-i / (n - 1)).
double frequency(int64_t i, int64_t n, bool toTheEnd) {
  return std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(toTheEnd ? n - 1 : n));
}

double interleaved(double position, int64_t column, int64_t width, bool toTheEnd) {
  const double angle = position * frequency(column / 2, (width + 1) / 2, toTheEnd);
  return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

double halves(double position, int64_t column, int64_t width, bool toTheEnd) {
  const int64_t half = width / 2;
  const double angle = position * frequency(column % half, half, toTheEnd);
  return column < half ? std::sin(angle) : std::cos(angle);
}

/// Two axes of a square grid, half of the columns each.
double onGrid(int64_t cell, int64_t side, int64_t column, int64_t width, bool rowsFirst) {
  const int64_t half = width / 2;
  const bool second = column >= half;
  const int64_t place = second == rowsFirst ? cell % side : cell / side;
  return halves(static_cast<double>(place), column % half, half, false);
}

using Formula = std::function<double(int64_t row, int64_t column)>;

/// Rounding of fp32: of the angle, which grows with the row, and of its sine.
bool equals(const Table &table, int64_t from, const Formula &formula) {
  for (int64_t row = from; row < table.rows; ++row)
    for (int64_t column = 0; column < table.width; ++column)
      if (!(std::abs(table.at(row, column) - formula(row - from, column)) <=
            4e-7 * static_cast<double>(row + 16)))
        return false;
  return true;
}

/// The first row of sines and cosines in turn has two values, however it was moved and scaled.
bool alternatesAtFirst(const Table &table) {
  for (int64_t column = 2; column < table.width; ++column)
    if (table.at(0, column) != table.at(0, column - 2))
      return false;
  return true;
}

/// PatchTST's: less its mean, over ten deviations.
bool equalsNormalised(const Table &table) {
  if (!alternatesAtFirst(table))
    return false;
  std::vector<double> wanted(table.values.size());
  double sum = 0, squares = 0;
  for (int64_t row = 0; row < table.rows; ++row)
    for (int64_t column = 0; column < table.width; ++column)
      sum += wanted[row * table.width + column] =
          interleaved(static_cast<double>(row), column, table.width, false);
  const auto count = static_cast<double>(wanted.size());
  for (double &value : wanted)
    squares += (value - sum / count) * (value - sum / count);
  const double deviation = std::sqrt(squares / std::max(count - 1, 1.0));
  return equals(table, 0, [&](int64_t row, int64_t column) {
    return (wanted[row * table.width + column] - sum / count) / (10 * deviation);
  });
}

bool isZeroRow(const Table &table) {
  for (int64_t column = 0; column < table.width; ++column)
    if (table.at(0, column) != 0)
      return false;
  return true;
}

std::optional<int64_t> sideOf(int64_t cells) {
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(cells))));
  return side > 1 && side * side == cells ? std::optional(side) : std::nullopt;
}

std::optional<std::string> formulaOf(const Table &table) {
  const int64_t width = table.width;
  for (bool toTheEnd : {false, true}) {
    if (equals(table, 0, [&](int64_t row, int64_t column) {
          return interleaved(static_cast<double>(row), column, width, toTheEnd);
        }))
      return "sines and cosines in turn";
    if (width % 2 == 0 && equals(table, 0, [&](int64_t row, int64_t column) {
          return halves(static_cast<double>(row), column, width, toTheEnd);
        }))
      return "sines, then cosines";
  }
  const int64_t first = isZeroRow(table) ? 1 : 0; // of the class token
  if (const std::optional<int64_t> side = sideOf(table.rows - first); side && width % 4 == 0)
    for (bool rowsFirst : {true, false})
      if (equals(table, first,
                 [&](int64_t row, int64_t column) { return onGrid(row, *side, column, width, rowsFirst); }))
        return "sines and cosines of two axes";
  if (equalsNormalised(table))
    return "sines and cosines in turn, normalised";
  return std::nullopt;
}

} // namespace

std::optional<std::string> sineFormula(const Tensor &tensor) {
  if (!model::isFloat(tensor.dtype) || tensor.dims.size() < 2)
    return std::nullopt;
  for (size_t d = 0; d + 2 < tensor.dims.size(); ++d)
    if (tensor.dims[d] != 1)
      return std::nullopt;
  try {
    Table table{{}, tensor.dims[tensor.dims.size() - 2], tensor.dims.back()};
    if (table.rows < 2 || table.width < 4)
      return std::nullopt;
    table.values = tensor.floats();
    return formulaOf(table);
  } catch (const Error &) {
    return std::nullopt; // external data that is not there
  }
}

} // namespace kedge::lint
