#include "runtime/train/weights/FirstAdapters.h"
#include "runtime/train/weights/Decompose.h"
#include "runtime/train/weights/StateValues.h"
#include <cmath>

namespace kedge::rt {
namespace {

/// [out, in] of a weight that lies as [in, out] where `transposed` says so.
Matrix outputsFirst(const std::vector<float> &values, int64_t outputs, bool transposed) {
  const int64_t inputs = static_cast<int64_t>(values.size()) / outputs;
  Matrix matrix(outputs, inputs);
  for (int64_t out = 0; out < outputs; ++out)
    for (int64_t in = 0; in < inputs; ++in)
      matrix.at(out, in) = static_cast<double>(
          values[static_cast<size_t>(transposed ? in * outputs + out : out * inputs + in)]);
  return matrix;
}

std::vector<float> floats(const Matrix &matrix, double factor) {
  std::vector<float> values;
  values.reserve(matrix.values.size());
  for (double value : matrix.values)
    values.push_back(static_cast<float>(value * factor));
  return values;
}

/// Of a table.
std::vector<float> rowsOf(const std::vector<float> &table, const State &tokens) {
  const std::vector<int64_t> &rows = tokens.adapter->rows;
  const int64_t width = tokens.viewOrWhole().whole[1];
  std::vector<float> values;
  for (int64_t row : rows)
    values.insert(values.end(), table.begin() + row * width, table.begin() + (row + 1) * width);
  return values;
}

void put(const State &state, const std::vector<float> &values, char *destination) {
  fillFromTensor(state, {reinterpret_cast<const char *>(values.data()), DType::F32, {}}, destination);
}

} // namespace

const State *FirstAdapters::splitFactor(const State &base, bool isB) const {
  for (const State &state : executor.program().states)
    if (state.adapter && state.adapter->base == base.name && state.adapter->from != Decomposition::None &&
        (isB ? state.adapter->isB() : state.adapter->isA()))
      return &state;
  return nullptr;
}

bool FirstAdapters::isRest(const State &state) const {
  return state.role == StateRole::Frozen && splitFactor(state, /*isB=*/true);
}

/// As peft has them: PiSSA's factors are divided by the scale, so that scale B A is the part; OLoRA's are
/// not.
void FirstAdapters::split(const State &base) {
  if (splitBase == base.name)
    return;
  const State &factorB = *splitFactor(base, true);
  const AdapterFactor &facts = *factorB.adapter;
  const std::vector<int64_t> shape = factorB.viewOrWhole().whole; // [out, r]
  rest = wholeWeight(base);
  const Matrix weight = outputsFirst(rest, shape[0], facts.transposed);
  const bool isPissa = facts.from == Decomposition::Pissa;
  const MatrixParts parts = isPissa ? largestSingularParts(weight, shape[1], executor.threads())
                                    : firstOrthogonalParts(weight, shape[1], executor.threads());
  const double factor = isPissa ? 1 / std::sqrt(facts.scale) : 1;
  a = floats(parts.right, factor);
  b = floats(parts.left, factor);
  const Matrix part = product(parts.left, parts.right, executor.threads());
  const double taken = facts.scale * factor * factor;
  for (int64_t out = 0; out < weight.rows; ++out)
    for (int64_t in = 0; in < weight.columns; ++in)
      rest[static_cast<size_t>(facts.transposed ? in * weight.rows + out : out * weight.columns + in)] =
          static_cast<float>(weight.at(out, in) - taken * part.at(out, in));
  splitBase = base.name;
}

void FirstAdapters::fillRest(const State &base, char *destination) {
  split(base);
  put(base, rest, destination);
}

void FirstAdapters::norms(const State &base, const AdapterFactor &factor) {
  const State *b = nullptr;
  for (const State &state : executor.program().states)
    if (state.adapter && state.adapter->base == base.name && state.adapter->isB())
      b = &state;
  const Matrix weight = outputsFirst(wholeWeight(base), b->viewOrWhole().whole[0], factor.transposed);
  magnitudes.clear();
  for (int64_t out = 0; out < weight.rows; ++out) {
    double squares = 0;
    for (int64_t in = 0; in < weight.columns; ++in)
      squares += weight.at(out, in) * weight.at(out, in);
    magnitudes.push_back(static_cast<float>(std::sqrt(squares)));
  }
}

bool FirstAdapters::fill(const State &state, char *destination) {
  if (!state.adapter || (!state.adapter->isMagnitude() && !state.adapter->isTokens() &&
                         state.adapter->from == Decomposition::None))
    return false;
  const State &base = *executor.program().state(state.adapter->base);
  if (state.adapter->isTokens()) {
    put(state, rowsOf(wholeWeight(base), state), destination);
    return true;
  }
  if (state.adapter->isMagnitude()) {
    norms(base, *state.adapter);
    put(state, magnitudes, destination);
    return true;
  }
  split(base);
  put(state, state.adapter->isB() ? b : a, destination);
  return true;
}

} // namespace kedge::rt
