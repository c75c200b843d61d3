#include "driver/diff/Pairs.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace kedge::driver {
namespace {

using Group = std::vector<const TracedTensor *>;

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

/// What a value without a name may have in common with another one.
std::string likenessOf(const TracedTensor &tensor) {
  return "value " + std::to_string(tensor.step) + " " + std::to_string(tensor.run) + " " + tensor.function +
         (tensor.backward ? " backward " : " forward ") + tensor.place + " " +
         rt::shapeText(tensor.desc.shape);
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

bool isNamed(const TracedTensor &tensor) { return tensor.isState || !tensor.value.empty(); }

/// One side's values that have no partner yet, by what they have in common with one.
class Side {
public:
  explicit Side(const std::vector<TracedTensor> &tensors) {
    for (const TracedTensor &tensor : tensors)
      open.push_back(&tensor);
  }

  std::map<std::string, Group> groups;

  void groupByName() {
    groupBy([](const TracedTensor &tensor) { return isNamed(tensor) ? keyOf(tensor) : ""; });
  }
  void groupByLikeness() {
    groupBy([](const TracedTensor &tensor) { return tensor.isState ? "" : likenessOf(tensor); });
  }

  /// Without what has a partner as another reading of the same bytes.
  Group &left(const std::string &key) {
    Group &group = groups.at(key);
    std::erase_if(group, [&](const TracedTensor *one) { return !isFree(*one); });
    return group;
  }

  bool isFree(const TracedTensor &tensor) const { return !paired.count(tensor.origin); }
  void pair(const TracedTensor &tensor) { paired.insert(tensor.origin); }

  int64_t countLeft() const {
    std::set<int64_t> alone;
    for (const TracedTensor *one : open)
      if (isFree(*one))
        alone.insert(one->origin);
    return static_cast<int64_t>(alone.size());
  }

private:
  Group open;               ///< each value once
  std::set<int64_t> paired; ///< by origin

  /// An empty key: in no group.
  template <typename Key> void groupBy(Key commonKey) {
    groups.clear();
    Group rest;
    for (const TracedTensor *tensor : open)
      if (const std::string key = commonKey(*tensor); key.empty())
        rest.push_back(tensor);
      else if (isFree(*tensor))
        groups[key].push_back(tensor);
    for (auto &[key, group] : groups) {
      group = once(group);
      rest.insert(rest.end(), group.begin(), group.end());
    }
    open = std::move(rest);
  }
};

class Pairing {
public:
  Pairing(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b) : a(a), b(b) {}

  Pairs run(const PairRules &rules) {
    a.groupByName();
    b.groupByName();
    pairGroups();
    // Also where there is no nearness: of what runs again without a name, one counts.
    a.groupByLikeness();
    b.groupByLikeness();
    if (rules.byNearness)
      pairGroups();
    found.onlyA = a.countLeft();
    found.onlyB = b.countLeft();
    return std::move(found);
  }

private:
  void pairGroups() {
    using Step = void (Pairing::*)(const Group &, const Group &);
    for (Step step : {&Pairing::pairEqual, &Pairing::pairNearest, &Pairing::pairAsMany})
      for (const auto &entry : a.groups)
        if (b.groups.count(entry.first))
          (this->*step)(a.left(entry.first), b.left(entry.first));
  }

  void add(const TracedTensor *one, const TracedTensor *other, bool equal) {
    found.pairs.push_back({one, other, equal});
    a.pair(*one);
    b.pair(*other);
  }

  /// Two names are two values.
  bool mayBeOne(const TracedTensor *one, const TracedTensor *other) const {
    return a.isFree(*one) && b.isFree(*other) &&
           (one->value == other->value || one->value.empty() || other->value.empty());
  }

  void pairEqual(const Group &groupA, const Group &groupB) {
    for (const TracedTensor *one : groupA)
      for (const TracedTensor *other : groupB)
        if (mayBeOne(one, other) && sameBits(*one, *other))
          add(one, other, true);
  }

  /// The nearest first.
  void pairNearest(const Group &groupA, const Group &groupB) {
    constexpr double unrelated = 0.5;
    struct Near {
      double farness;
      const TracedTensor *a, *b;
    };
    std::vector<Near> all;
    for (const TracedTensor *one : groupA)
      for (const TracedTensor *other : groupB)
        if (const double far = farness(*one, *other); far < unrelated)
          all.push_back({far, one, other});
    std::stable_sort(all.begin(), all.end(),
                     [](const Near &x, const Near &y) { return x.farness < y.farness; });
    for (const Near &near : all)
      if (mayBeOne(near.a, near.b))
        add(near.a, near.b, false);
  }

  /// What is near to nothing may be wrong: as many on both sides belong together.
  void pairAsMany(const Group &allA, const Group &allB) {
    const Group groupA = firstReadings(allA), groupB = firstReadings(allB);
    if (groupA.size() != groupB.size())
      return;
    for (size_t i = 0; i < groupA.size(); ++i)
      if (mayBeOne(groupA[i], groupB[i]))
        add(groupA[i], groupB[i], false);
  }

  static Group firstReadings(const Group &group) {
    Group kept;
    std::set<int64_t> origins;
    for (const TracedTensor *one : group)
      if (origins.insert(one->origin).second)
        kept.push_back(one);
    return kept;
  }

  Side a, b;
  Pairs found;
};

} // namespace

std::string keyOf(const TracedTensor &tensor) {
  const std::string what = tensor.isState         ? "state " + tensor.name
                           : tensor.value.empty() ? likenessOf(tensor)
                                                  : std::to_string(tensor.micro) + " " + tensor.value;
  return std::to_string(tensor.step) + " " + what + " " + rt::shapeText(tensor.desc.shape);
}

Pairs pairsOf(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b, PairRules rules) {
  Pairs found = Pairing(a, b).run(rules);
  // A trace is one array, in the order of the run.
  std::sort(found.pairs.begin(), found.pairs.end(),
            [&](const Pair &x, const Pair &y) { return rules.orderOfB ? x.b < y.b : x.a < y.a; });
  return found;
}

} // namespace kedge::driver
