#include "driver/diff/Diff.h"
#include "driver/diff/Gather.h"
#include "driver/diff/Pairs.h"
#include "lib/Export/Plan/PlanView.h"
#include "lib/Support/Error.h"
#include "lib/Support/TemporaryFolder.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

using nlohmann::json;

namespace kedge::driver {
namespace {

/// How far two tensors are apart. `squares` are sums over the elements of A and of the differences.
struct Distance {
  double squaresA = 0, squaresOfDifference = 0, largest = 0;
  int64_t first = -1; ///< the first element that differs
  int64_t count = 0;
  double relative() const {
    if (squaresOfDifference == 0)
      return 0;
    return squaresA > 0 ? std::sqrt(squaresOfDifference / squaresA) : std::numeric_limits<double>::infinity();
  }
};

/// Both values are NaN, or the same number: -0 is 0.
bool sameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Distance distanceOf(const TracedTensor &a, const TracedTensor &b) {
  Distance distance;
  for (int64_t i = 0; i < a.desc.elements(); ++i) {
    const double x = rt::loadAsDouble(a.desc.type, a.data, i), y = rt::loadAsDouble(b.desc.type, b.data, i);
    if (std::isfinite(x))
      distance.squaresA += x * x;
    if (sameNumber(x, y))
      continue;
    distance.count += 1;
    if (distance.first < 0)
      distance.first = i;
    const double difference =
        std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) : std::numeric_limits<double>::infinity();
    distance.squaresOfDifference += difference * difference;
    distance.largest = std::max(distance.largest, difference);
  }
  return distance;
}

/// Numbers between two of one float type, counted; none for other types and for NaN.
std::optional<int64_t> ulpsBetween(const TracedTensor &a, const TracedTensor &b, int64_t element) {
  if (a.desc.type != b.desc.type || !rt::isFloat(a.desc.type))
    return std::nullopt;
  const size_t size = rt::dtypeSize(a.desc.type);
  const auto ordered = [&](const TracedTensor &tensor) {
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data + static_cast<size_t>(element) * size, size);
    const uint64_t sign = uint64_t(1) << (8 * size - 1);
    return bits & sign ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
  };
  if (std::isnan(rt::loadAsDouble(a.desc.type, a.data, element)) ||
      std::isnan(rt::loadAsDouble(b.desc.type, b.data, element)))
    return std::nullopt;
  return std::abs(ordered(a) - ordered(b));
}

std::string whatIs(const TracedTensor &tensor) {
  if (tensor.isState)
    return fmt::format("state {} {}", tensor.name,
                       tensor.step == 0 ? std::string("before the first step")
                                        : fmt::format("after step {}", tensor.step - 1));
  return fmt::format("{} (launch {} of {}){}", tensor.op, tensor.launch, tensor.function,
                     tensor.place.empty() ? "" : " at " + tensor.place);
}

json numberJson(double value) { return std::isfinite(value) ? json(value) : json(fmt::format("{}", value)); }

class Comparison {
public:
  Comparison(const Pairs &found, double tolerance) : found(found), tolerance(tolerance) {}

  json run() {
    for (const Pair &pair : found.pairs)
      compare(pair);
    json answer = {{"equal", different == 0},       {"compared", found.pairs.size()},
                   {"equal_to_the_bit", equalBits}, {"within_tolerance", within},
                   {"different", different},        {"only_a", found.onlyA},
                   {"only_b", found.onlyB},         {"states_before", statesBefore}};
    answer["first"] = first;
    answer["layers"] = layersJson();
    return answer;
  }

private:
  struct Layer {
    double squaresA[2] = {0, 0}, squaresOfDifference[2] = {0, 0};
    int64_t values[2] = {0, 0};
  };

  void compare(const Pair &pair) {
    const Distance distance = pair.equal ? ofItself(*pair.a) : distanceOf(*pair.a, *pair.b);
    if (!pair.a->isState && !pair.a->intoState)
      addToLayer(*pair.a, distance);
    if (pair.equal) {
      ++equalBits;
      return;
    }
    if (distance.relative() <= tolerance) {
      ++within;
      return;
    }
    ++different;
    if (pair.a->isState && pair.a->step == 0)
      statesBefore.push_back(stateJson(pair, distance));
    else if (first.is_null())
      first = differenceJson(pair, distance);
  }

  static Distance ofItself(const TracedTensor &tensor) {
    Distance distance;
    for (int64_t i = 0; i < tensor.desc.elements(); ++i)
      if (const double x = rt::loadAsDouble(tensor.desc.type, tensor.data, i); std::isfinite(x))
        distance.squaresA += x * x;
    return distance;
  }

  json differenceJson(const Pair &pair, const Distance &distance) const {
    const int64_t at = std::max<int64_t>(0, distance.first);
    json entry = {{"what", whatIs(*pair.a)},
                  {"what_b", whatIs(*pair.b)},
                  {"step", pair.a->step},
                  {"shape", pair.a->desc.shape},
                  {"dtype_a", rt::dtypeName(pair.a->desc.type)},
                  {"dtype_b", rt::dtypeName(pair.b->desc.type)},
                  {"element", at},
                  {"a", numberJson(rt::loadAsDouble(pair.a->desc.type, pair.a->data, at))},
                  {"b", numberJson(rt::loadAsDouble(pair.b->desc.type, pair.b->data, at))},
                  {"elements_that_differ", distance.count},
                  {"relative_error", numberJson(distance.relative())},
                  {"reads", pair.a->reads}};
    if (const std::optional<int64_t> ulps = ulpsBetween(*pair.a, *pair.b, at))
      entry["ulps"] = *ulps;
    return entry;
  }

  /// With the first launch that reads it, whose result may round the difference away.
  json stateJson(const Pair &pair, const Distance &distance) const {
    json entry = differenceJson(pair, distance);
    for (const Pair &reader : found.pairs)
      if (std::find(reader.a->reads.begin(), reader.a->reads.end(), "state " + pair.a->readAs) !=
          reader.a->reads.end()) {
        entry["first_reader"] = {{"what", whatIs(*reader.a)}, {"equal", reader.equal}};
        break;
      }
    return entry;
  }

  void addToLayer(const TracedTensor &tensor, const Distance &distance) {
    if (!rt::isFloat(tensor.desc.type))
      return;
    std::string place = tensor.place;
    if (const size_t end = place.find(" (backward)"); end != std::string::npos)
      place.resize(end);
    const std::string name = exporter::layerGroup(place);
    const auto [at, isNew] = layers.try_emplace(name);
    if (isNew)
      order.push_back(name);
    Layer &layer = at->second;
    layer.squaresA[tensor.backward] += distance.squaresA;
    layer.squaresOfDifference[tensor.backward] += distance.squaresOfDifference;
    ++layer.values[tensor.backward];
  }

  json layersJson() const {
    json rows = json::array();
    for (const std::string &name : order) {
      const Layer &layer = layers.at(name);
      json row = {{"layer", name}};
      for (const int part : {0, 1}) {
        const char *key = part ? "backward" : "forward";
        if (layer.values[part] == 0) {
          row[key] = nullptr;
          continue;
        }
        const double error = layer.squaresOfDifference[part] == 0 ? 0
                             : layer.squaresA[part] > 0
                                 ? std::sqrt(layer.squaresOfDifference[part] / layer.squaresA[part])
                                 : std::numeric_limits<double>::infinity();
        row[key] = numberJson(error);
      }
      rows.push_back(row);
    }
    return rows;
  }

  const Pairs &found;
  double tolerance;
  int64_t equalBits = 0, within = 0, different = 0;
  json first, statesBefore = json::array();
  std::map<std::string, Layer> layers;
  std::vector<std::string> order;
};

} // namespace

namespace {

GatheredTrace traced(const DiffQuestion &question, const std::string &program, const TemporaryFolder &folder,
                     const char *name) {
  const std::string file = folder.file(name);
  const int64_t ranks = ranksOf(program, folder);
  runTraced(program, ranks, question.launcher, question.options, folder, file);
  return GatheredTrace(file, ranks);
}

GatheredTrace::Wanted readingsIn(const std::vector<TracedTensor> &tensors) {
  auto keys = std::make_shared<std::set<std::string>>();
  for (const TracedTensor &tensor : tensors)
    keys->insert(keyOf(tensor));
  return [keys](const TracedTensor &tensor) { return keys->count(keyOf(tensor)) != 0; };
}

const GatheredTrace::Wanted anyReading = [](const TracedTensor &) { return true; };

json comparisonOf(const Pairs &found, const DiffQuestion &question, const std::string &b) {
  if (found.pairs.empty())
    fail("{} and {} have no value in common: are they programs of one model with equal shapes?", question.a,
         b);
  json answer = Comparison(found, question.tolerance).run();
  answer["a"] = question.a;
  answer["b"] = b;
  answer["tolerance"] = question.tolerance;
  return answer;
}

/// Of the forward part of the first step: the model's file has nothing else.
std::vector<TracedTensor> firstForward(const std::vector<TracedTensor> &all,
                                       const GatheredTrace::Wanted &states) {
  std::vector<TracedTensor> forward;
  for (const TracedTensor &tensor : all)
    if (tensor.step == 0 && (tensor.isState ? states(tensor) : !tensor.backward && !tensor.intoState))
      forward.push_back(tensor);
  return forward;
}

json diffAgainst(const DiffQuestion &question, const TemporaryFolder &folder) {
  GatheredTrace a = traced(question, question.a, folder, "a");
  if (a.ranks() > 1)
    fail("{}: --against compares programs of one rank, this one is for {}; kedge diff with a program of one "
         "rank "
         "compares those of several",
         question.a, a.ranks());
  const Reference reference = runReference(question.against, folder.file("a"), folder);
  const Trace b(reference.trace);
  const std::vector<TracedTensor> own = firstForward(a.tensors(anyReading, false), readingsIn(b.tensors()));
  json answer = comparisonOf(pairsOf(own, b.tensors()), question, question.against);
  answer["engine"] = reference.engine;
  return answer;
}

} // namespace

json diff(const DiffQuestion &question) {
  for (const std::string &program : {question.a, question.b})
    if (program.ends_with(".onnx"))
      fail("{}: an ONNX file is no program; give it as --against {}", program, program);
  const TemporaryFolder folder("kedge-diff");
  if (!question.against.empty())
    return diffAgainst(question, folder);
  GatheredTrace a = traced(question, question.a, folder, "a"), b = traced(question, question.b, folder, "b");
  // The side of one rank says which wholes are looked for.
  const bool aIsGathered = a.ranks() > 1 && b.ranks() == 1;
  GatheredTrace &given = aIsGathered ? b : a, &gathered = aIsGathered ? a : b;
  const std::vector<TracedTensor> ofGiven = given.tensors(anyReading, false);
  const std::vector<TracedTensor> ofGathered =
      gathered.tensors(readingsIn(ofGiven), given.micros() != gathered.micros());
  const PairRules rules{a.ranks() == 1 && b.ranks() == 1, aIsGathered};
  Pairs found = aIsGathered ? pairsOf(ofGathered, ofGiven, rules) : pairsOf(ofGiven, ofGathered, rules);
  (aIsGathered ? found.onlyA : found.onlyB) += gathered.leftOut();
  (aIsGathered ? found.onlyB : found.onlyA) += given.leftOut();
  json answer = comparisonOf(found, question, question.b);
  answer["ranks_a"] = a.ranks();
  answer["ranks_b"] = b.ranks();
  return answer;
}

} // namespace kedge::driver
