// A draw that becomes a mask of two values, and the arithmetic between this mask and one value of the model.
#include "lib/Lint/Lint.h"
#include "lib/Lint/Noise.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace kedge::lint {
using model::Node;

namespace {
constexpr double tolerance = 2e-3; // constants may be stored in 16 bits
constexpr int longestChain = 8;

/// What an element is where the mask drops, and where it keeps.
struct Pair {
  double off = 0, on = 0;
};

Pair combine(const std::string &op, Pair a, Pair b) {
  auto one = [&](double x, double y) {
    return op == "Mul" ? x * y : op == "Div" ? x / y : op == "Add" ? x + y : x - y;
  };
  return {one(a.off, b.off), one(a.on, b.on)};
}

bool isArithmetic(const Node &node) {
  return node.is("Mul") || node.is("Div") || node.is("Add") || node.is("Sub");
}

bool keepsNumbers(const Node &node) {
  return node.is("Identity") || node.is("Cast") || node.is("CastLike") || node.is("Reshape") ||
         node.is("Unsqueeze") || node.is("Squeeze") || node.is("Expand") || node.is("Flatten");
}

/// A value as factor times the model's value plus addend.
struct Affine {
  Pair factor{1, 1}, addend{0, 0};
};

class Mask {
public:
  Mask(const Flow &flow, size_t draw) : flow(flow), draw(draw) {}

  std::optional<std::vector<NoiseSwitch>> switches() {
    if (!begin() || !broadcast() || keep <= 0 || keep >= 1 || mixing.empty())
      return std::nullopt;
    std::vector<NoiseSwitch> found;
    for (size_t node : mixing) {
      if (covered.count(node))
        continue;
      std::optional<NoiseSwitch> one = follow(node);
      if (!one)
        return std::nullopt;
      found.push_back(std::move(*one));
    }
    return found;
  }

private:
  const Node &node(size_t n) const { return flow.graph.nodes[n]; }

  bool begin() {
    const Node &drawn = node(draw);
    if (drawn.is("Bernoulli")) {
      std::optional<double> p = flow.constant(drawn.input(0));
      if (!p)
        return false;
      keep = *p;
      pairs[drawn.output(0)] = {0, 1};
      return true;
    }
    const bool uniform = drawn.is("RandomUniform") || drawn.is("RandomUniformLike");
    shifts[drawn.output(0)] = 0;
    return uniform && drawn.attrFloat("low", 0) == 0 && drawn.attrFloat("high", 1) == 1;
  }

  bool isNoise(const std::string &name) const { return shifts.count(name) || pairs.count(name); }

  /// Through all nodes that compute with the draw and constants alone; the others are where it meets the
  /// model.
  bool broadcast() {
    for (size_t n = draw + 1; n < flow.graph.nodes.size(); ++n) {
      const Node &now = node(n);
      bool reads = false;
      for (size_t k = 0; k < now.inputs.size(); ++k)
        reads |= isNoise(now.inputs[k]) && !(k == 1 && now.is("CastLike"));
      if (!reads || now.is("Shape") || drawsLike(now))
        continue;
      if (!pure(now))
        mixing.push_back(n);
      else if (flow.isOutput(now.output(0)))
        return false;
    }
    return true;
  }

  static bool drawsLike(const Node &now) { return drawsAlways(now) && !now.is("Bernoulli"); }

  std::optional<Pair> pairOf(const std::string &name) const {
    if (auto known = pairs.find(name); known != pairs.end())
      return known->second;
    std::optional<double> number = isNoise(name) ? std::nullopt : flow.constant(name);
    return number ? std::optional(Pair{*number, *number}) : std::nullopt;
  }

  bool pure(const Node &now) {
    const std::string &out = now.output(0);
    if (keepsNumbers(now)) {
      if (auto shift = shifts.find(now.input(0)); shift != shifts.end())
        return shifts[out] = shift->second, true;
      if (auto pair = pairs.find(now.input(0)); pair != pairs.end())
        return pairs[out] = pair->second, true;
      return false;
    }
    return threshold(now) || compute(now);
  }

  /// A draw against a constant: the mask.
  bool threshold(const Node &now) {
    double below = 0; // probability that the drawn operand is less than the other
    bool onBelow = true;
    if (now.is("Floor")) {
      auto shift = shifts.find(now.input(0));
      if (shift == shifts.end())
        return false;
      return setMask(now.output(0), shift->second);
    }
    if (now.is("Add") && shifts.count(now.input(0)) + shifts.count(now.input(1)) == 1) {
      const size_t drawn = shifts.count(now.input(0)) ? 0 : 1;
      std::optional<double> number = flow.constant(now.input(1 - drawn));
      if (number)
        shifts[now.output(0)] = shifts[now.input(drawn)] + *number;
      return number.has_value();
    }
    const bool less = now.is("Less") || now.is("LessOrEqual");
    if (!less && !now.is("Greater") && !now.is("GreaterOrEqual"))
      return false;
    const size_t drawn = shifts.count(now.input(0)) ? 0 : 1;
    auto shift = shifts.find(now.input(drawn));
    std::optional<double> bound = flow.constant(now.input(1 - drawn));
    if (shift == shifts.end() || !bound)
      return false;
    below = *bound - shift->second;
    onBelow = less == (drawn == 0);
    return setMask(now.output(0), onBelow ? below : 1 - below);
  }

  bool setMask(const std::string &out, double probability) {
    if (keep >= 0 && std::abs(keep - probability) > 1e-9)
      return false; // a second mask of the same numbers
    keep = probability;
    pairs[out] = {0, 1};
    return true;
  }

  bool compute(const Node &now) {
    std::vector<Pair> operands;
    for (size_t k = 0; k < now.inputs.size(); ++k) {
      std::optional<Pair> pair = pairOf(now.inputs[k]);
      if (!pair)
        return false;
      operands.push_back(*pair);
    }
    Pair result;
    if (isArithmetic(now) && operands.size() == 2)
      result = combine(now.opType, operands[0], operands[1]);
    else if (now.is("Not"))
      result = {1 - operands[0].off, 1 - operands[0].on};
    else if (now.is("Neg"))
      result = {-operands[0].off, -operands[0].on};
    else if (now.is("Reciprocal"))
      result = {1 / operands[0].off, 1 / operands[0].on};
    else if (now.is("Where"))
      result = {operands[0].off != 0 ? operands[1].off : operands[2].off,
                operands[0].on != 0 ? operands[1].on : operands[2].on};
    else
      return false;
    pairs[now.output(0)] = result;
    return true;
  }

  /// From where the mask meets a value of the model to where the result is what eval() would give on average.
  std::optional<NoiseSwitch> follow(size_t start) {
    Affine value;
    std::string data;
    if (!enter(node(start), value, data))
      return std::nullopt;
    std::vector<size_t> passed{start};
    for (size_t at = start;;) {
      if (std::optional<std::string> source = acceptedSource(value, data)) {
        covered.insert(passed.begin(), passed.end());
        return NoiseSwitch{{draw}, at, node(at).output(0), *source};
      }
      std::vector<std::pair<size_t, size_t>> readers = flow.readers(node(at).output(0));
      if (readers.size() != 1 || flow.isOutput(node(at).output(0)) || passed.size() >= longestChain ||
          !step(node(readers[0].first), readers[0].second, value))
        return std::nullopt;
      at = readers[0].first;
      passed.push_back(at);
    }
  }

  bool enter(const Node &now, Affine &value, std::string &data) const {
    const bool where = now.is("Where");
    if (!where && (!isArithmetic(now) || now.inputs.size() != 2))
      return false;
    const size_t first = where ? 1 : 0, last = where ? 2 : 1;
    const bool second = !pairOf(now.input(last)); // which operand is the model's value
    const size_t own = second ? last : first, other = second ? first : last;
    std::optional<Pair> pair = pairOf(now.input(other));
    if (!pair || isNoise(now.input(own)))
      return false;
    data = now.input(own);
    if (where)
      return enterWhere(now, own, *pair, value);
    return apply(now, own, *pair, value);
  }

  /// A mask that chooses between the value and a constant.
  bool enterWhere(const Node &now, size_t own, Pair other, Affine &value) const {
    std::optional<Pair> mask = pairOf(now.input(0));
    if (!mask || !isNoise(now.input(0)))
      return false;
    auto takes = [&](double condition) { return (condition != 0) == (own == 1); };
    value.factor = {takes(mask->off) ? 1.0 : 0.0, takes(mask->on) ? 1.0 : 0.0};
    value.addend = {takes(mask->off) ? 0.0 : other.off, takes(mask->on) ? 0.0 : other.on};
    return true;
  }

  bool apply(const Node &now, size_t own, Pair other, Affine &value) const {
    if (now.is("Add") || now.is("Sub")) {
      if (now.is("Sub") && own == 1) {
        value.factor = {-value.factor.off, -value.factor.on};
        value.addend = {other.off - value.addend.off, other.on - value.addend.on};
      } else {
        value.addend = combine(now.opType, value.addend, other);
      }
      return true;
    }
    if (now.is("Div") && own == 1)
      return false;
    value.factor = combine(now.opType, value.factor, other);
    value.addend = combine(now.opType, value.addend, other);
    return true;
  }

  bool step(const Node &now, size_t own, Affine &value) const {
    if (keepsNumbers(now) && own == 0 && (now.is("Identity") || now.is("Cast") || now.is("CastLike")))
      return true;
    if (!isArithmetic(now) || now.inputs.size() != 2)
      return false;
    std::optional<Pair> other = pairOf(now.input(1 - own));
    return other && apply(now, own, *other, value);
  }

  /// The value that stands for the result; a constant factor may have come before the mask.
  std::optional<std::string> acceptedSource(const Affine &value, const std::string &data) const {
    if (isNeutral(value))
      return data;
    std::optional<size_t> made = flow.producer(data);
    if (!made || !(node(*made).is("Mul") || node(*made).is("Div")) || flow.readers(data).size() != 1 ||
        moduleOf(node(*made)) != moduleOf(node(draw)))
      return std::nullopt;
    const Node &before = node(*made);
    for (size_t own : {0, 1}) {
      std::optional<double> number = flow.constant(before.input(1 - own));
      if (!number || (before.is("Div") && own == 1))
        continue;
      const double scale = before.is("Mul") ? *number : 1 / *number;
      Affine whole = value;
      whole.factor = {value.factor.off * scale, value.factor.on * scale};
      if (isNeutral(whole))
        return before.input(own);
    }
    return std::nullopt;
  }

  double mean(Pair pair) const { return keep * pair.on + (1 - keep) * pair.off; }

  bool isNeutral(const Affine &value) const {
    const Pair a = value.factor, b = value.addend;
    const bool dropsAll = a.off == 0 && b.off == 0 && b.on == 0;
    if (dropsAll)
      return std::abs(mean(a) - 1) < tolerance;
    // Alpha dropout: what is dropped gets one number, and a value of mean 0 and variance 1 keeps both.
    const double square = mean({a.off * a.off, a.on * a.on}) + mean({b.off * b.off, b.on * b.on});
    return a.off == 0 && b.off != b.on && std::abs(mean(b)) < tolerance &&
           std::abs(square - 1) < 2 * tolerance;
  }

  const Flow &flow;
  size_t draw;
  double keep = -1; ///< probability of the mask's second value; negative until there is a mask
  std::map<std::string, double> shifts; ///< the draw itself, plus a number
  std::map<std::string, Pair> pairs;
  std::vector<size_t> mixing;
  std::set<size_t> covered;
};
} // namespace

std::optional<std::vector<NoiseSwitch>> switchesOfMask(const Flow &flow, size_t draw) {
  return Mask(flow, draw).switches();
}

} // namespace kedge::lint
