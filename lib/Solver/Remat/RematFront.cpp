#include "lib/Solver/Remat/RematFront.h"
#include "lib/Solver/Remat/RematDelays.h"
#include <algorithm>

namespace kedge::solver {
namespace {

/// Rungs are this many times the no-remat peak apart; the rest of the ladder follows from what is feasible.
constexpr int rungsPerPeak = 40;
constexpr int failuresBeforeStop = 3;
constexpr size_t mostFailures = 3; // with each heat
/// Plans that add more of the cost than that are for those who need the smallest peak.
constexpr double mostEased = 0.4;
/// Where plans add that share of the cost, so many orders in which a gradient of weights runs late are tried.
/// Each gets that many times the work of a rung at first, and is left where it adds so many times as much as
/// the ladder, or is behind it so often.
constexpr double dearEnoughToDelay = 0.1, farBehind = 1.3;
constexpr int mostDelayed = 1, rungsPerDelay = 3, mostBehind = 3;

double costOf(const RematProblem &problem, const std::vector<int> &sequence) {
  double result = 0;
  for (int node : sequence)
    result += problem.nodes[node].cost;
  return result;
}

bool keepsOrder(const RematModel &model, const std::vector<int> &sequence) {
  if (model.freeOrder)
    return true;
  int next = 0;
  for (int node : sequence) {
    int position = model.orderPosition[node];
    if (position > next)
      return false;
    next += position == next;
  }
  return true;
}

} // namespace

bool RematFront::add(const std::vector<int> &sequence) {
  Entry entry{peakOf(model.problem, sequence), costOf(model.problem, sequence), sequence};
  if (entry.peak < 0 || !keepsOrder(model, sequence))
    return false;
  auto atLeastAsGood = [](const Entry &a, const Entry &b) { return a.peak <= b.peak && a.cost <= b.cost; };
  for (const Entry &other : entries)
    if (atLeastAsGood(other, entry))
      return false;
  std::erase_if(entries, [&](const Entry &other) { return atLeastAsGood(entry, other); });
  auto place =
      std::find_if(entries.begin(), entries.end(), [&](const Entry &e) { return e.peak < entry.peak; });
  entries.insert(place, std::move(entry));
  return true;
}

const RematFront::Entry *RematFront::within(int64_t budget) const {
  auto place = std::find_if(entries.begin(), entries.end(), [&](const Entry &e) { return e.peak <= budget; });
  return place == entries.end() ? nullptr : &*place;
}

namespace {

class Ladder {
public:
  Ladder(const RematModel &model, RematFront &front, const LadderOptions &options)
      : model(model), front(front), options(options), search(model, options.seed) {
    base = peakOf(model.problem, model.problem.order);
  }

  void walk() {
    int lowest = down();
    for (int rung = lowest + 1; rung < rungsPerPeak && options.lowestBudget == 0 && !stopped(); ++rung) {
      tell(0.6 + 0.4 * rung / rungsPerPeak);
      up(rung);
    }
    if (!stopped() && options.lowestBudget == 0)
      lowerSmallestPeak(base / rungsPerPeak / 2, {0.1});
    if (options.lowestBudget == 0)
      refineSteepSteps();
    if (options.lowestBudget == 0)
      delay(lowest);
  }

  /// Lowers the smallest peak by ever smaller steps, from `step` on to a sixteenth of it. Where a walk finds
  /// nothing lower, hotter ones are tried.
  void lowerSmallestPeak(int64_t step, const std::vector<double> &heats) {
    size_t failures = 0, tries = 0;
    step = std::max<int64_t>(1, step);
    for (const int64_t last = std::max<int64_t>(1, step / 16);
         step >= last && failures < mostFailures * heats.size() && !stopped();) {
      const std::vector<int> start = front.smallestPeak().sequence;
      const int64_t before = front.smallestPeak().peak;
      anneal(start, before - step, heats[tries]);
      if (front.smallestPeak().peak < before) {
        tries = 0;
        continue;
      }
      ++failures;
      if (++tries == heats.size()) {
        tries = 0;
        step /= 2;
      }
    }
  }

private:
  int64_t budgetOf(int rung) const {
    return base / rungsPerPeak * rung + base % rungsPerPeak * rung / rungsPerPeak;
  }
  bool stopped() const { return options.outOfTime && options.outOfTime(); }
  void tell(double share) const {
    if (options.progress)
      options.progress(share);
  }

  bool anneal(std::vector<int> start, int64_t budget, double startHeat) {
    return anneal(std::move(start), budget, startHeat, options.workPerRung);
  }

  bool anneal(std::vector<int> start, int64_t budget, double startHeat, int64_t work) {
    AnnealResult result = search.anneal(start, budget, walkOptions(work, startHeat));
    lastFound = result.sequence;
    return front.add(result.sequence) && result.feasible;
  }

  int down() {
    int failures = 0, rung = rungsPerPeak - 1;
    std::vector<int> above = front.all().front().sequence;
    for (; rung > 0 && failures < failuresBeforeStop && !stopped(); --rung) {
      tell(0.6 * (rungsPerPeak - 1 - rung) / rungsPerPeak);
      int64_t budget = budgetOf(rung);
      if (budget < options.lowestBudget && budgetOf(rung + 1) <= options.lowestBudget)
        break;
      budget = std::max(budget, options.lowestBudget);
      std::vector<int> start = above;
      anneal(start, budget, 0.2);
      // A start of another kind may be ahead of what the walk has found.
      if (const RematFront::Entry *best = front.within(budget); best && best->sequence != lastFound)
        anneal(std::vector<int>(best->sequence), budget, 0.2);
      for (double heat : {1.0, 3.0})
        if (!front.within(budget)) {
          anneal(front.smallestPeak().sequence, budget, heat);
          anneal(front.all().front().sequence, budget, heat);
        }
      const RematFront::Entry *best = front.within(budget);
      above = best ? best->sequence : front.smallestPeak().sequence;
      failures = front.within(budget) ? 0 : failures + 1;
    }
    return rung + failures;
  }

  /// A step is moved ahead easily, but hardly ever far back: its inputs would be held on the way, or made
  /// again at once. So an order in which a gradient of weights runs late gets a walk of its own. It comes
  /// last: no other plan depends on it.
  void delay(int lowest) {
    int rung = rungsPerPeak - 1;
    while (rung > lowest && !isDear(budgetOf(rung)))
      --rung;
    if (rung <= lowest)
      return;
    RematSearch apart(model, options.seed);
    for (const std::vector<int> &start : delayedStarts(model, mostDelayed)) {
      AnnealOptions hot = softWalk(1, rungsPerDelay * options.workPerRung);
      hot.endHeat = 0.01;
      AnnealResult late = apart.anneal(start, budgetOf(rung), hot);
      const double added = front.within(budgetOf(rung))->cost - model.requiredCost;
      if (late.feasible && late.cost - model.requiredCost < farBehind * added)
        followLate(apart, std::move(late.sequence), budgetOf(rung), budgetOf(lowest));
    }
  }

  /// From the first dear rung on down by half rungs, as long as it is ahead of what the ladder has found, and
  /// up again.
  void followLate(RematSearch &apart, std::vector<int> late, int64_t highest, int64_t least) {
    const int64_t step = std::max<int64_t>(1, base / rungsPerPeak / 2);
    int64_t budget = highest - step;
    front.add(late);
    for (int behind = 0; behind < mostBehind && budget > least && !stopped(); budget -= step) {
      AnnealResult walked = apart.anneal(late, budget, softWalk(0.5, options.workPerRung));
      if (!walked.feasible)
        walked = apart.anneal(late, budget, walkOptions(options.workPerRung, 0.5));
      behind = walked.feasible && front.add(walked.sequence) ? 0 : behind + 1;
      if (walked.feasible)
        late = std::move(walked.sequence);
    }
    while ((budget += step) <= highest && !stopped())
      if (const RematFront::Entry *below = front.within(budget - step))
        front.add(
            apart.anneal(std::vector<int>(below->sequence), budget, softWalk(0.2, options.workPerRung / 2))
                .sequence);
  }

  bool isDear(int64_t budget) const {
    const RematFront::Entry *best = front.within(budget);
    return best && best->cost > (1 + dearEnoughToDelay) * model.requiredCost;
  }

  /// May exceed the budget while it is hot.
  AnnealOptions softWalk(double startHeat, int64_t work) const {
    AnnealOptions annealing = walkOptions(work, startHeat);
    annealing.slack = 0.06;
    return annealing;
  }

  AnnealOptions walkOptions(int64_t work, double startHeat) const {
    AnnealOptions annealing;
    annealing.work = work;
    annealing.startHeat = startHeat;
    annealing.endHeat = 0.003;
    annealing.outOfTime = options.outOfTime;
    return annealing;
  }

  /// What a smaller budget taught may help a larger one.
  void up(int rung) {
    const RematFront::Entry *below = front.within(budgetOf(rung - 1));
    if (below)
      anneal(std::vector<int>(below->sequence), budgetOf(rung), 0.1);
  }

  /// A plan on a rung has the rung's bytes to the last one, and may be packed a little above them. Where the
  /// next plan costs more, one that is a little smaller is worth a short walk; where it costs much more, one
  /// that is smaller by a hundredth, too.
  void refineSteepSteps() {
    refineSteepSteps(300, model.requiredCost / 400, options.workPerRung);
    refineSteepSteps(100, model.requiredCost / 100, options.workPerRung / 3);
  }

  void refineSteepSteps(int64_t part, double jump, int64_t work) {
    std::vector<RematFront::Entry> before = front.all();
    for (size_t i = 0; i + 1 < before.size() && !stopped(); ++i) {
      int64_t eased = before[i].peak - before[i].peak / part;
      if (before[i + 1].cost - before[i].cost < jump || before[i + 1].peak >= eased)
        continue;
      if (before[i].cost > (1 + mostEased) * model.requiredCost)
        break;
      anneal(before[i].sequence, eased, 0.1, work);
      if (const RematFront::Entry *best = front.within(eased); best && best->peak == before[i + 1].peak)
        anneal(before[i + 1].sequence, eased, 0.1, work);
    }
  }

  const RematModel &model;
  RematFront &front;
  const LadderOptions &options;
  RematSearch search;
  std::vector<int> lastFound;
  int64_t base;
};

} // namespace

void climbLadder(const RematModel &model, RematFront &front, const LadderOptions &options) {
  Ladder(model, front, options).walk();
}

void lowerPeak(const RematModel &model, RematFront &front, const LadderOptions &options) {
  Ladder(model, front, options).lowerSmallestPeak(front.smallestPeak().peak / 8, {0.1, 1, 3});
}

namespace {

class Focus {
public:
  Focus(const RematModel &model, RematFront &front, int64_t budget, uint64_t seed,
        const std::function<double()> &timeUsed, const std::function<bool()> &enough)
      : model(model), front(front), budget(budget), timeUsed(timeUsed), enough(enough),
        search(model, seed + 1000), random(seed + 2000), base(front.all().front().peak) {}

  /// Small graphs get many short walks, large ones a slow one that takes most of the time, then shorter ones.
  void run() {
    int64_t work = 50'000 + 20 * static_cast<int64_t>(model.nodeCount) * model.nodeCount;
    for (int round = 0; !stopped(); ++round) {
      const RematFront::Entry *best = front.within(budget);
      double share = (isLarge() ? 0.9 : 0.5) * (1 - timeUsed());
      if (round % 2 == 1 && best)
        anneal(std::vector<int>(best->sequence), budget, 3 * work, heats[random.below(4)], share / 2);
      else
        walkDown(work, share);
      if (round % 4 == 3)
        work += work / 3;
    }
  }

private:
  static constexpr double heats[] = {0.05, 0.1, 0.2, 0.4};

  bool stopped() const { return timeUsed() >= 1 || enough(); }
  bool isLarge() const { return model.nodeCount > 250; }

  /// `share` of the time limit at most.
  std::vector<int> anneal(const std::vector<int> &start, int64_t limit, int64_t work, double heat,
                          double share) {
    double begin = timeUsed();
    AnnealOptions annealing;
    annealing.work = work;
    annealing.startHeat = heat;
    annealing.endHeat = isLarge() ? 0.02 : 0.002;
    annealing.slack = 0.06;
    annealing.progress = [&] { return (timeUsed() - begin) / std::max(share, 1e-9); };
    annealing.outOfTime = [&] { return stopped(); };
    std::vector<int> found = search.anneal(start, limit, annealing).sequence;
    front.add(found);
    return found;
  }

  /// From a plan for a large budget down to this one: a little at a time, so that the order follows the
  /// budget.
  void walkDown(int64_t work, double share) {
    static constexpr int partsOfBase[] = {1, 10, 20, 40};
    int parts = isLarge() ? 1 : partsOfBase[random.below(4)];
    double heat = isLarge() ? 0.5 : heats[random.below(4)];
    int origin = random.chance(0.75) ? 0 : random.below(static_cast<int>(front.all().size()));
    std::vector<int> sequence = front.all()[origin].sequence;
    int64_t limit = std::max(budget, front.all()[origin].peak), step = std::max<int64_t>(1, base / parts);
    const int64_t rungs = 3 + (limit - budget) / step;
    double rungShare = share / static_cast<double>(rungs);
    while (limit > budget && !stopped()) {
      limit = std::max(budget, limit - step);
      int longer = limit == budget ? 2 : 1;
      sequence = anneal(sequence, limit, longer * work, heat, longer * rungShare);
    }
    if (!stopped())
      anneal(sequence, budget, work, heat / 4, rungShare);
  }

  const RematModel &model;
  RematFront &front;
  int64_t budget;
  const std::function<double()> &timeUsed;
  const std::function<bool()> &enough;
  RematSearch search;
  RematRandom random;
  int64_t base;
};

} // namespace

void focusOn(const RematModel &model, RematFront &front, int64_t budget, uint64_t seed,
             const std::function<double()> &timeUsed, const std::function<bool()> &enough) {
  Focus(model, front, budget, seed, timeUsed, enough).run();
}

} // namespace kedge::solver
