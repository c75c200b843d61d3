#include "driver/diff/Pairs.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace kedge::driver {
namespace {

using Group = std::vector<const TracedTensor *>;

std::string keyOf(const TracedTensor &tensor) {
  std::string key = tensor.isState
                        ? "state " + std::to_string(tensor.step) + " " + tensor.name
                        : "value " + std::to_string(tensor.step) + " " + std::to_string(tensor.run) + " " +
                              tensor.function + (tensor.backward ? " backward " : " forward ") + tensor.place;
  return key + " " + rt::shapeText(tensor.desc.shape);
}

bool sameBits(const TracedTensor &a, const TracedTensor &b) {
  return a.desc.type == b.desc.type && a.desc.bytes() == b.desc.bytes() &&
         std::memcmp(a.data, b.data, a.desc.bytes()) == 0;
}

/// Each content once: what runs again makes the same bits.
Group once(const Group &all) {
  Group kept;
  for (const TracedTensor *one : all)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const TracedTensor *other) { return sameBits(*one, *other); }))
      kept.push_back(one);
  return kept;
}

std::map<std::string, Group> groupsOf(const Trace &trace) {
  std::map<std::string, Group> groups;
  for (const TracedTensor &tensor : trace.tensors())
    groups[keyOf(tensor)].push_back(&tensor);
  return groups;
}

/// The difference's share of both norms, over a sample of the elements: 0 for equal ones, 1 for unrelated
/// ones.
double farness(const TracedTensor &a, const TracedTensor &b) {
  constexpr int64_t sampled = 1024;
  const int64_t count = a.desc.elements(), stride = std::max<int64_t>(1, count / sampled);
  double difference = 0, norms = 0;
  for (int64_t i = 0; i < count; i += stride) {
    const double x = rt::loadAsDouble(a.desc.type, a.data, i), y = rt::loadAsDouble(b.desc.type, b.data, i);
    if (!std::isfinite(x) || !std::isfinite(y))
      continue;
    difference += (x - y) * (x - y);
    norms += x * x + y * y;
  }
  return norms > 0 ? std::sqrt(difference / norms) : 0;
}

/// Takes those out that are near to each other, the nearest first.
void pairNearest(Group &a, Group &b, Pairs &found) {
  constexpr double unrelated = 0.5;
  struct Near {
    double farness;
    size_t a, b;
  };
  std::vector<Near> all;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j)
      if (const double far = farness(*a[i], *b[j]); far < unrelated)
        all.push_back({far, i, j});
  std::stable_sort(all.begin(), all.end(),
                   [](const Near &x, const Near &y) { return x.farness < y.farness; });
  for (const Near &near : all)
    if (a[near.a] && b[near.b]) {
      found.pairs.push_back({a[near.a], b[near.b], false});
      a[near.a] = b[near.b] = nullptr;
    }
  std::erase(a, nullptr);
  std::erase(b, nullptr);
}

void pairGroup(const Group &allA, const Group &allB, Pairs &found) {
  Group a = once(allA), b = once(allB);
  std::erase_if(a, [&](const TracedTensor *one) {
    const auto same =
        std::find_if(b.begin(), b.end(), [&](const TracedTensor *other) { return sameBits(*one, *other); });
    if (same == b.end())
      return false;
    found.pairs.push_back({one, *same, true});
    b.erase(same);
    return true;
  });
  pairNearest(a, b, found);
  // What is near to nothing may be wrong: as many on both sides belong together.
  const size_t both = a.size() == b.size() ? a.size() : 0;
  for (size_t i = 0; i < both; ++i)
    found.pairs.push_back({a[i], b[i], false});
  found.onlyA += static_cast<int64_t>(a.size() - both);
  found.onlyB += static_cast<int64_t>(b.size() - both);
}

} // namespace

Pairs pairsOf(const Trace &a, const Trace &b) {
  Pairs found;
  const std::map<std::string, Group> groupsA = groupsOf(a), groupsB = groupsOf(b);
  for (const auto &[key, group] : groupsA) {
    const auto other = groupsB.find(key);
    if (other == groupsB.end())
      found.onlyA += static_cast<int64_t>(once(group).size());
    else
      pairGroup(group, other->second, found);
  }
  for (const auto &[key, group] : groupsB)
    if (!groupsA.count(key))
      found.onlyB += static_cast<int64_t>(once(group).size());
  // A trace is one array, in the order of the run.
  std::sort(found.pairs.begin(), found.pairs.end(), [](const Pair &x, const Pair &y) { return x.a < y.a; });
  return found;
}

} // namespace kedge::driver
