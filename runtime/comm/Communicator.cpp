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
  const int64_t places = communicator->rowPlaces();
  withAllRanks(*communicator, values, count, [&](const double *all) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = all[i];
      for (int64_t place = 1; place < places; ++place)
        values[i] += all[static_cast<size_t>(communicator->rankOfRows(place)) * count + i];
    }
  });
}

bool isFirstHolder(const Communicator &communicator, const std::string &axes) {
  const std::vector<int64_t> holders = communicator.mesh().groupOf(axes, 0).members;
  return std::binary_search(holders.begin(), holders.end(), communicator.world().rank);
}

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
