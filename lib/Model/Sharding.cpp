#include "lib/Model/Sharding.h"
#include <algorithm>

namespace kedge::model {

int64_t ShardedAxis::shards() const {
  int64_t product = 1;
  for (const ShardFactor &factor : factors)
    product *= factor.shards;
  return product;
}

int64_t ShardingSpec::shards() const {
  int64_t product = 1;
  for (const ShardedAxis &axis : axes)
    product *= axis.shards();
  return product;
}

std::vector<std::vector<int64_t>> ShardingSpec::holders() const {
  std::vector<std::vector<int64_t>> result;
  for (int64_t device : devices) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto &g) { return g.first == device; });
    result.push_back(group == groups.end() ? std::vector{device} : group->second);
  }
  if (shards() == 1 && result.size() > 1) { // each device of the list has all of it
    std::vector<int64_t> all;
    for (const std::vector<int64_t> &own : result)
      all.insert(all.end(), own.begin(), own.end());
    result = {all};
  }
  return result;
}

} // namespace kedge::model
