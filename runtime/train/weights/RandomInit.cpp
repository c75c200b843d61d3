// --init: values from Philox, element by element in the exported file's layout.
#include "runtime/exec/ThreadPool.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Philox.h"
#include "runtime/train/weights/Weights.h"
#include <cmath>
#include <cstring>
#include <numbers>

namespace kedge::rt {
namespace {

/// FNV-1a, folded to 32 bits.
uint32_t nameKey(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

/// In (0, 1]: a logarithm can be taken.
double positiveUnit(uint32_t word) { return (static_cast<double>(word) + 1) * 0x1p-32; }

std::array<double, 4> valuesOf(const InitSpec &spec, const PhiloxBlock &words) {
  std::array<double, 4> values{};
  switch (spec.kind) {
  case InitSpec::Kind::Zeros:
    break;
  case InitSpec::Kind::Ones:
    values.fill(1);
    break;
  case InitSpec::Kind::Uniform:
    for (size_t i = 0; i < 4; ++i)
      values[i] = spec.amount * (2 * positiveUnit(words[i]) - 1);
    break;
  case InitSpec::Kind::Normal:
    for (size_t i = 0; i < 4; i += 2) { // Box-Muller
      const double radius = spec.amount * std::sqrt(-2 * std::log(positiveUnit(words[i])));
      const double angle = 2 * std::numbers::pi * positiveUnit(words[i + 1]);
      values[i] = radius * std::cos(angle);
      values[i + 1] = radius * std::sin(angle);
    }
    break;
  }
  return values;
}

/// Index in the exported layout of element `index` of the whole tensor in the arena's order of axes.
int64_t fileIndex(const State &state, const std::vector<int64_t> &whole,
                  const std::vector<int64_t> &fileStrides, int64_t index) {
  if (state.perm.empty())
    return index;
  int64_t result = 0;
  for (size_t k = state.perm.size(); k-- > 0;) {
    result += index % whole[k] * fileStrides[static_cast<size_t>(state.perm[k])];
    index /= whole[k];
  }
  return result;
}

/// The elements of a view, in slices that threads can share.
std::vector<ElementRun> slicesOf(const StateView &view) {
  constexpr int64_t most = 1 << 14;
  std::vector<ElementRun> slices;
  view.forEachRun([&](const ElementRun &run) {
    for (int64_t at = 0; at < run.count; at += most)
      slices.push_back({run.whole + at, run.here + at, std::min(most, run.count - at)});
  });
  return slices;
}

} // namespace

void fillFrom(const InitSpec &spec, const State &state, int64_t seed, int threads, char *destination) {
  const std::vector<int64_t> shape = state.fileShape();
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  const uint32_t key = nameKey(state.onnxName);
  const StateView view = state.viewOrWhole();
  if (state.view)
    std::memset(destination, 0, state.desc.bytes());
  const std::vector<ElementRun> slices = slicesOf(view);
  parallelParts(threads, static_cast<int64_t>(slices.size()), [&](int64_t part) {
    const ElementRun &slice = slices[static_cast<size_t>(part)];
    int64_t known = -1;
    std::array<double, 4> values{};
    for (int64_t i = 0; i < slice.count; ++i) {
      const int64_t element = fileIndex(state, view.whole, strides, slice.whole + i);
      if (element / 4 != known) {
        known = element / 4;
        values =
            valuesOf(spec, randomBlock(static_cast<uint64_t>(seed), key, 0,
                                       static_cast<uint32_t>(known >> 32), static_cast<uint32_t>(known)));
      }
      storeDouble(state.desc.type, destination, slice.here + i, values[static_cast<size_t>(element % 4)]);
    }
  });
}

} // namespace kedge::rt
