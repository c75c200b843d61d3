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

std::map<std::string, Group> groupsOf(const std::vector<TracedTensor> &tensors) {
  std::map<std::string, Group> groups;
  for (const TracedTensor &tensor : tensors)
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

/// One side's values of a key that have no partner yet, and what is known of all of its values.
struct Side {
  std::map<std::string, Group> groups;
  std::set<int64_t> paired; ///< by origin

  explicit Side(const std::vector<TracedTensor> &tensors) : groups(groupsOf(tensors)) {
    for (auto &[key, group] : groups)
      group = once(group);
  }

  /// Without what has a partner as another reading of the same bytes.
  Group &left(const std::string &key) {
    Group &group = groups.at(key);
    std::erase_if(group, [&](const TracedTensor *one) { return paired.count(one->origin) != 0; });
    return group;
  }

  int64_t countLeft() {
    std::set<int64_t> alone;
    for (auto &[key, group] : groups)
      for (const TracedTensor *one : left(key))
        alone.insert(one->origin);
    return static_cast<int64_t>(alone.size());
  }
};

class Pairing {
public:
  Pairing(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b) : a(a), b(b) {}

  Pairs run() {
    using Step = void (Pairing::*)(const Group &, const Group &);
    for (Step step : {&Pairing::pairEqual, &Pairing::pairNearest, &Pairing::pairAsMany})
      for (const auto &entry : a.groups)
        if (b.groups.count(entry.first))
          (this->*step)(a.left(entry.first), b.left(entry.first));
    found.onlyA = a.countLeft();
    found.onlyB = b.countLeft();
    return std::move(found);
  }

private:
  void add(const TracedTensor *one, const TracedTensor *other, bool equal) {
    found.pairs.push_back({one, other, equal});
    a.paired.insert(one->origin);
    b.paired.insert(other->origin);
  }

  bool isFree(const TracedTensor *one, const TracedTensor *other) const {
    return !a.paired.count(one->origin) && !b.paired.count(other->origin);
  }

  void pairEqual(const Group &groupA, const Group &groupB) {
    for (const TracedTensor *one : groupA)
      for (const TracedTensor *other : groupB)
        if (isFree(one, other) && sameBits(*one, *other))
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
      if (isFree(near.a, near.b))
        add(near.a, near.b, false);
  }

  /// What is near to nothing may be wrong: as many on both sides belong together. A guess that is near to
  /// nothing is a wrong guess.
  void pairAsMany(const Group &allA, const Group &allB) {
    Group groupA = allA, groupB = allB;
    for (Group *group : {&groupA, &groupB})
      std::erase_if(*group, [](const TracedTensor *one) { return one->isGuess; });
    if (groupA.size() != groupB.size())
      return;
    for (size_t i = 0; i < groupA.size(); ++i)
      if (isFree(groupA[i], groupB[i]))
        add(groupA[i], groupB[i], false);
  }

  Side a, b;
  Pairs found;
};

} // namespace

std::string keyOf(const TracedTensor &tensor) {
  std::string key = tensor.isState
                        ? "state " + std::to_string(tensor.step) + " " + tensor.name
                        : "value " + std::to_string(tensor.step) + " " + std::to_string(tensor.run) + " " +
                              tensor.function + (tensor.backward ? " backward " : " forward ") + tensor.place;
  return key + " " + rt::shapeText(tensor.desc.shape);
}

Pairs pairsOf(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b) {
  Pairs found = Pairing(a, b).run();
  // A trace is one array, in the order of the run.
  std::sort(found.pairs.begin(), found.pairs.end(), [](const Pair &x, const Pair &y) { return x.a < y.a; });
  return found;
}

} // namespace kedge::driver
