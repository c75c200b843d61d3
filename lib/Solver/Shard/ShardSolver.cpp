// The bound, and solutions from its labels; then the local search with its prices.
#include "lib/Solver/ProcessorClock.h"
#include "lib/Solver/Shard/ShardLocalSearch.h"
#include "lib/Solver/Shard/ShardRestarts.h"
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

namespace kedge::solver {
namespace {

/// Neighbourhoods of a descent: from the best labels, and from others. The best ones of a model that is large
/// for the latter get more between them.
constexpr int64_t kRoundsOfBest = 2000, kRoundsOfOther = 90, kNodesOfRound = 10;
/// Steps of the bound: they get shorter to this share of the longest ones, which then are shorter by a
/// factor, until they are not worth it.
constexpr double kShortest = 0.005, kShorter = 0.7, kLast = 1e-6;

/// Where messages end depends on the way: bounds of several starts, each aiming farther, differ by percents.
constexpr int kStarts = 4;
constexpr double kFarther = 0.05;

class Solver {
public:
  Solver(const ShardProblem &problem, const ShardOptions &options)
      : problem(problem), options(options), graph(makeShardGraph(problem)) {}

  ShardSolution solve() {
    reduceShardGraph(graph);
    solution.impossible = graph.impossible;
    if (!graph.impossible) {
      model = makeShardModel(graph);
      solution.impossible = model.impossible;
    }
    if (solution.impossible)
      return solution;
    auto dual = std::make_unique<ShardDual>(model);
    raise(*dual, options.effort / 4, 0.1);
    search(*dual, options.effort / 4, 0.2);
    for (int start = 0; start < kStarts && !isBest(*incumbent); ++start) {
      auto other = std::make_unique<ShardDual>(model);
      aim = 1 + kFarther * start;
      if (raise(*other, options.effort / 4, 0.2 + 0.06 * (start + 1)))
        dual = std::move(other);
    }
    if (!isBest(*incumbent)) {
      raise(*dual, options.effort / 4, 0.7);
      search(*dual, options.effort, 1);
    }
    finish(*incumbent);
    solution.proof.steps = std::move(graph.steps);
    return solution;
  }

private:
  bool late(double share) const {
    return options.seconds > 0 && ProcessorClock::secondsSince(begin) > share * options.seconds;
  }

  /// Steps get shorter when the bound stops growing, and then longer again, but less than before: what is
  /// found with short steps is the better place to go on from. The last passes are for messages alone.
  bool raise(ShardDual &dual, int64_t passes, double until) {
    double best = -std::numeric_limits<double>::infinity(), share = 1, longest = 1;
    int64_t still = 0;
    const int64_t settle = passes * 9 / 10;
    for (int64_t pass = 0;
         (pass == 0 || (pass < passes && !late(until))) && longest > kLast && !isClosed(best); ++pass) {
      dual.pass(pass % 2 == 0);
      const bool grown = dual.value() > best;
      if (grown) {
        best = dual.value();
        dual.keep();
      }
      still = grown ? 0 : still + 1;
      const ShardState state(model, dual.labels());
      offer(state, dual, pass);
      if (pass == settle || still == 20) {
        share /= 2;
        if (share < longest * kShortest)
          share = longest *= kShorter;
        still = 0;
        dual.goBack();
      }
      if (model.times > 0 && pass < settle)
        step(dual, state, best, share);
    }
    dual.goBack();
    const int64_t certified = dual.certified();
    if (certified < solution.lowerBound)
      return false;
    solution.lowerBound = certified;
    solution.proof = dual.proof();
    return true;
  }

  void step(ShardDual &dual, const ShardState &state, double best, double share) {
    const double slope = dual.turn(state.used());
    const double target = incumbent && incumbent->fits() ? aim * (incumbent->worth().cost + model.fixedCost)
                                                         : best + 0.1 * std::abs(best) + 1;
    if (slope > 0)
      dual.move(share * std::max(target - dual.value(), 0.0) / slope);
  }

  /// Costs are whole numbers.
  bool isClosed(double bound) const {
    return incumbent && incumbent->fits() && bound > incumbent->worth().cost + model.fixedCost - 1;
  }

  /// Labels that fit, or now and then those that can be made to.
  void offer(const ShardState &state, const ShardDual &dual, int64_t pass) {
    take(state);
    if ((incumbent && incumbent->fits()) || pass % 50 != 9)
      return;
    ShardState repaired = state;
    ShardLocalSearch local(model, dual.prices(), options.seed + static_cast<uint64_t>(pass));
    for (int round = 0; round < 200 && !repaired.fits(); ++round)
      local.improve(repaired, 30);
    take(repaired);
  }

  void take(const ShardState &state) {
    if (state.fits() && (!incumbent || state.worth() < incumbent->worth()))
      incumbent.emplace(state);
  }

  /// Goes on from the best labels, and from others, in turn.
  void search(ShardDual &dual, int64_t effort, double until) {
    ShardState best = incumbent ? *incumbent : ShardState(model, dual.labels());
    ShardLocalSearch local(model, dual.prices(), options.seed);
    ShardRestarts restarts(model, dual, options.seed);
    rounds = effort * std::max(model.nodes(), 20) / 20;
    latest = until;
    descend(best, local, kRoundsOfBest);
    while (rounds > 0 && !late(until) && !isBest(best)) {
      ShardState other(model, restarts.next(best.fits() ? best.labels() : std::vector<int>{}));
      descend(other, local, kRoundsOfOther);
      if (other.worth() < best.worth())
        best = other;
      else
        descend(best, local, std::min<int64_t>(model.nodes() / kNodesOfRound, kRoundsOfBest));
    }
    incumbent.emplace(best);
  }

  void descend(ShardState &state, ShardLocalSearch &local, int64_t count) {
    for (int64_t round = 0; round < count && rounds > 0 && !late(latest) && !isBest(state); ++round, --rounds)
      local.improve(state, 10 << (round % 6));
  }

  bool isBest(const ShardState &state) const {
    return state.fits() && state.worth().cost + model.fixedCost <= static_cast<double>(solution.lowerBound);
  }

  void finish(const ShardState &state) {
    solution.strategies = originalStrategies(graph, model, state.labels());
    solution.cost = shardCost(problem, solution.strategies);
    solution.found =
        solution.cost < kForbiddenCost && shardPeak(problem, solution.strategies) <= problem.limit;
  }

  const ShardProblem &problem;
  const ShardOptions &options;
  ProcessorClock::time_point begin = ProcessorClock::now();
  ShardGraph graph;
  ShardModel model;
  std::optional<ShardState> incumbent;
  double aim = 1;     ///< share of the incumbent's cost that steps aim at
  int64_t rounds = 0; ///< of the local search that are left
  double latest = 1;  ///< share of the time after which it ends
  ShardSolution solution;
};

} // namespace

ShardSolution solveSharding(const ShardProblem &problem, const ShardOptions &options) {
  return Solver(problem, options).solve();
}

} // namespace kedge::solver
