#include "lib/Analysis/DeviceModel.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/PersistentRegion.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Progress.h"
#include "lib/Support/Statistics.h"
#include "passes/Rematerialize/Frontier.h"
#include "passes/Rematerialize/HostCopies.h"
#include "passes/Rematerialize/LowerPeak.h"
#include "passes/Rematerialize/PackSequence.h"
#include "passes/Rematerialize/Passes.h"
#include "passes/Rematerialize/Policies.h"
#include "runtime/io/Error.h"

namespace kedge::remat {
#define GEN_PASS_DEF_CHOOSERECOMPUTE
#include "passes/Rematerialize/Passes.h.inc"

namespace {
using namespace mlir;

/// One function and the sequence it will run.
struct Choice {
  Graph graph;
  Blocks blocks = {};
  std::vector<int> sequence = {};
  int64_t bytes = 0, unconstrained = 0; ///< packed transient bytes
  int64_t smallest = 0;                 ///< packed transient bytes of the smallest plan known
  double seconds = 0, added = 0, lowerBound = 0;
  int64_t peakLowerBound = 0;
  std::vector<std::vector<int>> plans = {}; ///< to choose from, by rising cost; found once
  bool changed() const { return sequence != graph.problem.order; }
};

/// Other orders of a plan are tried where it misses the budget by a thirtieth at most, and room costs that
/// share of the time.
constexpr int64_t worthReordering = 30;
constexpr double costlyRoomShare = 0.005;

/// A function that a diagnostic has refused already.
struct Reported {};

struct ChooseRecompute : impl::ChooseRecomputeBase<ChooseRecompute> {
  using Base::Base;
  analysis::DeviceModel model;
  Policy wanted;
  std::optional<int64_t> hostLeft; ///< bytes of host memory for values

  void runOnOperation() override {
    try {
      choose();
    } catch (const Reported &) {
      signalPassFailure();
    } catch (const Error &error) {
      getOperation().emitError(error.what());
      signalPassFailure();
    } catch (const rt::Error &error) {
      getOperation().emitError(error.what());
      signalPassFailure();
    }
  }

  void choose() {
    std::string problem;
    std::optional<Policy> parsed = parsePolicy(policy, problem);
    if (!parsed)
      fail("recomputation policy {}", problem);
    wanted = *parsed;
    model = device.empty() ? analysis::thisMachine() : analysis::loadDevice(device);
    if (MemoryBudget given = parseMemoryBudget(hostBudget); given.kind != MemoryBudget::Kind::None) {
      if (given.kind != MemoryBudget::Kind::Bytes)
        fail("host memory budget '{}': expected bytes (17179869184, 16GiB)", hostBudget.getValue());
      hostLeft = given.bytes - analysis::hostStateBytes(getOperation());
    }
    std::vector<Choice> choices;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        choices.push_back(begin(function));
    Reference reference = referenceOf(choices);
    int64_t persistent = analysis::heldBytes(getOperation(), threads);
    std::optional<int64_t> limit = limitBytes(persistent, reference);
    std::optional<int64_t> left;
    if (limit)
      left = *limit - persistent;
    for (Choice &choice : choices)
      decide(choice, left);
    for (Choice &choice : choices)
      mark(choice);
    report(choices, persistent, reference, limit);
  }

  /// The peak and the time that budgets and overheads are shares of: those of the module now or, when this
  /// pass ran before states were moved to host memory, those of that run.
  struct Reference {
    int64_t peak = 0, transient = 0;
    double seconds = 0;
  };

  Reference referenceOf(const std::vector<Choice> &choices) {
    Reference reference;
    if (sched::RecomputeAttr facts = sched::RecomputeNote(&getContext()).getAttr(getOperation())) {
      reference.peak = facts.getUnconstrainedPeakBytes().getInt();
      reference.transient = facts.getUnconstrainedTransientBytes().getInt();
      reference.seconds = facts.getSeconds().getValueAsDouble();
      return reference;
    }
    for (const Choice &choice : choices) {
      reference.transient = std::max(reference.transient, choice.unconstrained);
      reference.seconds += trains(choice) ? choice.seconds : 0;
    }
    reference.peak = analysis::heldBytes(getOperation(), threads) + reference.transient;
    return reference;
  }

  Choice begin(func::FuncOp function) {
    Choice choice{graphOf(function)};
    choice.blocks = findBlocks(choice.graph);
    choice.sequence = choice.graph.problem.order;
    choice.bytes = choice.unconstrained = choice.smallest =
        packedBytes(choice.graph.problem, choice.sequence);
    for (int node : choice.sequence)
      choice.seconds += choice.graph.problem.nodes[node].cost;
    if (offload)
      allowOffload(choice);
    keepSmall(choice);
    return choice;
  }

  Graph graphOf(func::FuncOp function) {
    auto seconds = [&](Operation *op) { return analysis::secondsOf(analysis::costOf(op), model); };
    auto transfer = [&](int64_t bytes) { return analysis::secondsOf(analysis::transferCost(bytes), model); };
    auto workspace = [team = analysis::teamOf(threads)](Operation *op) {
      return analysis::workspaceOf(op, team);
    };
    GraphCosts costs{seconds, transfer, workspace};
    FailureOr<Graph> graph = buildGraph(function, &costs);
    if (failed(graph))
      throw Reported();
    return std::move(*graph);
  }

  /// Values worth a copy may go to host memory. Under --recompute none nothing else changes.
  void allowOffload(Choice &choice) {
    std::vector<int64_t> values = offloadableValues(choice.graph, choice.unconstrained / 1024);
    if (hostLeft)
      values = withinBytes(choice.graph, std::move(values), *hostLeft);
    if (values.empty())
      return;
    sched::OffloadableNote(&getContext())
        .setAttr(choice.graph.function, DenseI64ArrayAttr::get(&getContext(), values));
    choice.graph = graphOf(choice.graph.function);
    choice.blocks = findBlocks(choice.graph);
    if (wanted.kind == Policy::Kind::None)
      forbidRecompute(choice.graph);
  }

  static void forbidRecompute(Graph &graph) {
    auto isSlice = [](const Graph::Node &node) { return node.result >= 0; };
    int count = static_cast<int>(llvm::find_if(graph.nodes, isSlice) - graph.nodes.begin());
    graph.nodes.resize(count);
    graph.problem.nodes.resize(count);
    graph.forward.resize(count);
    for (solver::RematNode &node : graph.problem.nodes) {
      node.repeatable = false;
      llvm::erase_if(node.overwrites, [&](int other) { return other >= count; });
    }
  }

  /// Launches that make less than a 4096th of the peak (scalars, rows of statistics) run once: they are not
  /// worth a search. The peak is that of the forward part, since gradients that wait for their norm may be
  /// far larger than all activations.
  static void keepSmall(Choice &choice) {
    std::vector<int64_t> bytes = solver::bytesPerStep(choice.graph.problem, choice.graph.problem.order);
    int64_t peak = 0;
    for (auto [step, node] : llvm::enumerate(choice.graph.problem.order))
      if (choice.graph.forward[node])
        peak = std::max(peak, bytes[step]);
    if (peak == 0)
      peak = choice.unconstrained;
    for (solver::RematNode &node : choice.graph.problem.nodes) {
      int64_t made = 0;
      for (int output : node.outputs)
        made += choice.graph.problem.values[output].bytes;
      if (node.required && made < peak / 4096)
        node.repeatable = false;
    }
  }

  std::optional<int64_t> limitBytes(int64_t persistent, const Reference &reference) {
    MemoryBudget given = parseMemoryBudget(budget);
    auto share = [&](int64_t bytes) {
      return static_cast<int64_t>(static_cast<double>(bytes) * given.percent / 100);
    };
    switch (given.kind) {
    case MemoryBudget::Kind::None:
      return std::nullopt;
    case MemoryBudget::Kind::Bytes:
      return given.bytes;
    case MemoryBudget::Kind::PeakShare:
      return share(reference.peak);
    case MemoryBudget::Kind::ActivationShare:
      return persistent + share(reference.transient);
    case MemoryBudget::Kind::Device:
      break;
    }
    return model.memoryBytes;
  }

  void decide(Choice &choice, std::optional<int64_t> left) {
    bool free = wanted.kind == Policy::Kind::Auto || (wanted.kind == Policy::Kind::None && offload);
    if (!free && wanted.kind != Policy::Kind::None)
      follow(choice, wanted, left);
    else if (free && offload && !left)
      follow(choice, wanted, left);
    else if (free && left && choice.bytes > *left)
      search(choice, *left);
  }

  static double addedBy(const Choice &choice, const std::vector<int> &sequence) {
    if (sequence == choice.graph.problem.order)
      return 0;
    double cost = -choice.seconds;
    for (int node : sequence)
      cost += choice.graph.problem.nodes[node].cost;
    return std::max(0.0, cost);
  }

  /// Values that the policy drops are computed again. With `offload`, other values move to host memory until
  /// the budget is met or, without a budget, as long as that lowers the peak.
  void follow(Choice &choice, const Policy &policy, std::optional<int64_t> left) {
    std::vector<int> sequence =
        offloadLazily(choice.graph, droppedBy(policy, choice.graph, choice.blocks), left.value_or(0));
    if (solver::peakOf(choice.graph.problem, sequence) < 0)
      fail("@{}: --recompute {}: what it drops cannot be computed again here (an update comes between)",
           choice.graph.function.getName().str(), this->policy.getValue());
    if (sequence != choice.graph.problem.order)
      lowerPeakByOrder(choice.graph.problem, sequence);
    choice.bytes = choice.smallest = packedBytes(choice.graph.problem, sequence);
    choice.added = addedBy(choice, sequence);
    choice.sequence = std::move(sequence);
  }

  /// The plans of the policies, and plans with copies to host memory for several budgets. The solver starts
  /// from them, and each may be chosen itself.
  std::vector<std::vector<int>> starts(const Choice &choice) {
    std::vector<std::vector<int>> found;
    auto add = [&](std::vector<int> sequence) {
      if (solver::peakOf(choice.graph.problem, sequence) < 0 || sequence == choice.graph.problem.order)
        return;
      lowerPeakByOrder(choice.graph.problem, sequence);
      found.push_back(std::move(sequence));
    };
    using Kind = Policy::Kind;
    for (Kind kind : {Kind::Attention, Kind::Sqrt, Kind::Full, Kind::None}) {
      if (wanted.kind == Kind::None && kind != Kind::None)
        continue;
      std::vector<bool> dropped = droppedBy({kind, 0}, choice.graph, choice.blocks);
      if (kind != Kind::None)
        add(rebuildLazily(choice.graph, dropped));
      for (int percent : {80, 60, 40, 20, 0})
        if (offload)
          add(offloadLazily(choice.graph, dropped, choice.unconstrained / 100 * percent));
    }
    return found;
  }

  void take(Choice &choice, const std::vector<int> &sequence, int64_t packed) {
    choice.bytes = packed;
    choice.added = addedBy(choice, sequence);
    choice.sequence = sequence;
  }

  const std::vector<std::vector<int>> &plansOf(Choice &choice) {
    if (!choice.plans.empty())
      return choice.plans;
    solver::RematOptions options;
    options.effort = effort;
    options.starts = starts(choice);
    options.progress = [](double share) { tellProgress("choosing what to compute again", share); };
    choice.plans = options.starts;
    std::vector<solver::RematPlan> front = solver::rematFront(choice.graph.problem, options);
    options.progress(1);
    addStatistic("kedge-choose-recompute", "launches solved in place of all layers",
                 front.front().foldedNodes);
    for (solver::RematPlan &plan : front)
      choice.plans.push_back(std::move(plan.sequence));
    llvm::stable_sort(choice.plans,
                      [&](const auto &a, const auto &b) { return addedBy(choice, a) < addedBy(choice, b); });
    return choice.plans;
  }

  /// The plans of a function that no other one beats in bytes and time, with their packed bytes.
  FunctionFrontier frontierOf(Choice &choice) {
    FunctionFrontier function;
    const bool counts = trains(choice);
    if (counts)
      function.bound = solver::rematBounds(choice.graph.problem, /*freeOrder=*/true);
    const std::vector<const std::vector<int> *> few = fewOf(choice);
    function.plans.resize(1 + few.size(), {choice.unconstrained, 0});
    sideBySide(few.size(), [&](size_t i) {
      const int64_t peak = solver::peakOf(choice.graph.problem, *few[i]);
      function.plans[1 + i] = {packedBytes(choice.graph.problem, *few[i], /*good=*/peak + peak / 100),
                               counts ? addedBy(choice, *few[i]) : 0};
    });
    return function;
  }

  /// Of the plans that no other one beats, as many as there are points, at even distances in bytes: packing
  /// all would take long.
  std::vector<const std::vector<int> *> fewOf(Choice &choice) {
    std::vector<std::pair<int64_t, const std::vector<int> *>> best;
    for (const std::vector<int> &plan : plansOf(choice))
      if (int64_t peak = solver::peakOf(choice.graph.problem, plan); best.empty() || peak < best.back().first)
        best.push_back({peak, &plan});
    std::vector<const std::vector<int> *> few;
    for (int k = 0; k < frontier && !best.empty(); ++k) {
      const int64_t wanted =
          best.front().first - (best.front().first - best.back().first) / std::max(frontier - 1, 1) * k;
      const auto nearest = llvm::min_element(best, [&](const auto &a, const auto &b) {
        return std::abs(a.first - wanted) < std::abs(b.first - wanted);
      });
      const std::vector<int> *plan = k + 1 == frontier ? best.back().second : nearest->second;
      if (few.empty() || few.back() != plan)
        few.push_back(plan);
    }
    return few;
  }

  ArrayAttr frontierFacts(std::vector<Choice> &choices, int64_t persistent, const Reference &reference) {
    Builder b(&getContext());
    std::vector<FunctionFrontier> functions;
    for (Choice &choice : choices)
      functions.push_back(frontierOf(choice));
    SmallVector<Attribute> points;
    for (const FrontierPoint &point : remat::frontierOf(functions, frontier))
      points.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("peak_bytes", b.getI64IntegerAttr(persistent + point.bytes)),
           b.getNamedAttr("overhead", b.getF64FloatAttr(point.added / reference.seconds)),
           b.getNamedAttr("lower_bound", b.getF64FloatAttr(point.bound / reference.seconds))}));
    return b.getArrayAttr(points);
  }

  /// The cheapest plan of the solver's front and of the policies that fits when it is packed. All of them are
  /// found without a look at the budget, so that a larger one never costs more.
  void search(Choice &choice, int64_t left) {
    const std::vector<std::vector<int>> &plans = plansOf(choice);
    bool found = false;
    for (size_t i = 0; i < plans.size() && !found; ++i)
      found = solver::peakOf(choice.graph.problem, plans[i]) <= left && takeWithin(choice, plans, i, left);
    findSmallest(choice, plans, found);
    solver::RematPlan bound = solver::rematBound(choice.graph.problem, found ? left : choice.bytes, true);
    choice.lowerBound = std::min(bound.lowerBound, choice.added);
    choice.peakLowerBound = bound.peakLowerBound;
  }

  /// Where the packer cannot place a plan, and one with room to spare costs much more, other orders of it are
  /// tried.
  bool takeWithin(Choice &choice, const std::vector<std::vector<int>> &plans, size_t index, int64_t left) {
    const solver::RematProblem &problem = choice.graph.problem;
    const int64_t packed = packedBytes(problem, plans[index], left);
    if (packed <= left) {
      take(choice, plans[index], packed);
      return true;
    }
    if (packed - left > left / worthReordering ||
        costOfRoom(choice, plans, index, left) <= choice.seconds * costlyRoomShare)
      return false;
    std::optional<PackedSequence> other = orderWithin(problem, plans[index], left);
    if (other)
      take(choice, other->sequence, other->bytes);
    return other.has_value();
  }

  /// What the next plan costs more whose values leave a fiftieth of the bytes free; 0 where there is none, so
  /// that a smallest feasible budget is the same for all that ask.
  static double costOfRoom(const Choice &choice, const std::vector<std::vector<int>> &plans, size_t index,
                           int64_t left) {
    for (size_t next = index + 1; next < plans.size(); ++next)
      if (solver::peakOf(choice.graph.problem, plans[next]) <= left - left / 50)
        return addedBy(choice, plans[next]) - addedBy(choice, plans[index]);
    return 0;
  }

  /// The plan of the smallest peak need not be the smallest when it is packed. Others that could be smaller
  /// by at least a ten-thousandth are packed, too.
  void findSmallest(Choice &choice, const std::vector<std::vector<int>> &plans, bool found) {
    std::vector<std::pair<int64_t, size_t>> byPeak;
    for (size_t i = 0; i < plans.size(); ++i)
      byPeak.push_back({solver::peakOf(choice.graph.problem, plans[i]), i});
    llvm::sort(byPeak);
    byPeak.resize(std::min<size_t>(byPeak.size(), 8));
    choice.smallest = std::min(choice.smallest, choice.bytes);
    for (auto [peak, i] : byPeak) {
      if (peak >= choice.smallest - choice.smallest / 10000)
        break;
      int64_t packed = packedBytes(choice.graph.problem, plans[i]);
      if (packed >= choice.smallest)
        continue;
      choice.smallest = packed;
      if (!found)
        take(choice, plans[i], packed);
    }
  }

  void mark(Choice &choice) {
    if (!choice.changed()) {
      choice.graph.function->removeAttr(sched::OffloadableNote::getNameStr());
      return;
    }
    SmallVector<int64_t> sequence(choice.sequence.begin(), choice.sequence.end());
    sched::SequenceNote(&getContext())
        .setAttr(choice.graph.function, DenseI64ArrayAttr::get(&getContext(), sequence));
    addStatistic("kedge-choose-recompute", "launches to run again",
                 static_cast<int64_t>(sequence.size() - choice.graph.problem.order.size()) - fetches(choice));
    addStatistic("kedge-choose-recompute", "values to fetch", fetches(choice));
    addStatistic("kedge-choose-recompute", "bytes saved at the peak", choice.unconstrained - choice.bytes);
  }

  void report(std::vector<Choice> &choices, int64_t persistent, const Reference &reference,
              std::optional<int64_t> limit) {
    int64_t bytes = 0, smallest = 0, floor = 0, ops = 0;
    double flops = 0, seconds = 0, added = 0, bound = 0;
    SmallVector<Attribute> blocks;
    Builder builder(&getContext());
    for (const Choice &choice : choices) {
      bytes = std::max(bytes, choice.bytes);
      smallest = std::max(smallest, choice.smallest);
      floor = std::max(floor, choice.peakLowerBound);
      if (!trains(choice))
        continue;
      ops +=
          static_cast<int64_t>(choice.sequence.size() - choice.graph.problem.order.size()) - fetches(choice);
      flops += addedFlops(choice);
      seconds += choice.seconds;
      added += choice.added;
      bound += choice.lowerBound;
      for (const std::string &name : choice.blocks.names)
        if (auto attr = builder.getStringAttr(name); !llvm::is_contained(blocks, attr))
          blocks.push_back(attr);
    }
    // Copies of states that live in host memory are part of every plan.
    const double moved = seconds - reference.seconds;
    const auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
    const auto share = [&](double value) {
      return builder.getF64FloatAttr(reference.seconds > 0 ? (moved + value) / reference.seconds : 0);
    };
    sched::RecomputeNote(&getContext())
        .setAttr(getOperation(),
                 sched::RecomputeAttr::get(
                     &getContext(), builder.getStringAttr(policy),
                     builder.getBoolAttr(!limit || persistent + bytes <= *limit),
                     limit ? number(*limit) : IntegerAttr(), number(reference.peak),
                     number(reference.transient), number(persistent + smallest), number(persistent + floor),
                     builder.getF64FloatAttr(reference.seconds), number(ops), builder.getF64FloatAttr(flops),
                     share(added), share(bound), builder.getArrayAttr(blocks),
                     frontier > 0 ? frontierFacts(choices, persistent, reference) : ArrayAttr()));
  }

  /// Functions of a training step; evaluation does not count as overhead.
  static bool trains(const Choice &choice) {
    std::optional<train::FunctionKind> kind = train::kindOf(func::FuncOp(choice.graph.function));
    return kind && train::runsInStep(*kind, /*accumulate=*/1) > 0;
  }

  static int64_t fetches(const Choice &choice) {
    return llvm::count_if(choice.sequence, [&](int node) { return choice.graph.nodes[node].fetched >= 0; });
  }

  static double addedFlops(const Choice &choice) {
    double flops = 0;
    llvm::DenseSet<int> first;
    for (int node : choice.sequence)
      if (choice.graph.nodes[node].fetched < 0 &&
          (choice.graph.nodes[node].result >= 0 || !first.insert(node).second))
        flops += analysis::costOf(choice.graph.nodes[node].op).flops;
    return flops;
  }
};
} // namespace
} // namespace kedge::remat
