#include "runtime/comm/Communicator.h"
#include <algorithm>
#include <array>

namespace kedge::rt {
namespace {

/// Every rank's `count` values, one rank after the other; on the stack where they fit.
template <typename T, typename Use> void withAll(Communicator &communicator, const T *mine, size_t count, Use &&use) {
  const size_t all = count * static_cast<size_t>(communicator.world().size);
  std::array<T, 512> near;
  std::vector<T> far(all > near.size() ? all : 0);
  T *values = far.empty() ? near.data() : far.data();
  communicator.exchange(mine, count * sizeof(T), values);
  use(values);
}

} // namespace

void Communicator::barrier() {
  const char nothing = 0;
  withAll(*this, &nothing, 1, [](const char *) {});
}

void sumOverRanks(Communicator *communicator, double *values, size_t count) {
  if (!communicator)
    return;
  withAll(*communicator, values, count, [&](const double *all) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = all[i];
      for (int64_t rank = 1; rank < communicator->world().size; ++rank)
        values[i] += all[static_cast<size_t>(rank) * count + i];
    }
  });
}

int64_t maxOverRanks(Communicator *communicator, int64_t value) {
  if (!communicator)
    return value;
  int64_t largest = value;
  withAll(*communicator, &value, 1, [&](const int64_t *all) {
    largest = *std::max_element(all, all + communicator->world().size);
  });
  return largest;
}

} // namespace kedge::rt
