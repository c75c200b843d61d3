#include "runtime/comm/Communicator.h"
#include <algorithm>

namespace kedge::rt {
void Communicator::barrier() {
  const char nothing = 0;
  withAllRanks(*this, &nothing, 1, [](const char *) {});
}

void sumOverRanks(Communicator *communicator, double *values, size_t count) {
  if (!communicator)
    return;
  withAllRanks(*communicator, values, count, [&](const double *all) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = all[i];
      for (int64_t rank = 1; rank < communicator->world().size; ++rank)
        values[i] += all[static_cast<size_t>(rank) * count + i];
    }
  });
}

RankGroup localShards(const Communicator &communicator) {
  return communicator.mesh().groupOf(Mesh::kData, communicator.world().rank);
}

RankGroup firstParts(const Communicator &communicator) { return communicator.mesh().groupOf(Mesh::kData, 0); }

int64_t maxOverRanks(Communicator *communicator, int64_t value) {
  if (!communicator)
    return value;
  int64_t largest = value;
  withAllRanks(*communicator, &value, 1, [&](const int64_t *all) {
    largest = *std::max_element(all, all + communicator->world().size);
  });
  return largest;
}

} // namespace kedge::rt
