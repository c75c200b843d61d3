#include "lib/Analysis/DeviceModel.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/PersistentRegion.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "passes/Rematerialize/HostCopies.h"
#include "passes/Rematerialize/PackSequence.h"
#include "passes/Rematerialize/Passes.h"
#include "passes/Rematerialize/RecomputeFacts.h"

namespace kedge::remat {
#define GEN_PASS_DEF_CHOOSERECOMPUTE
#include "passes/Rematerialize/Passes.h.inc"

namespace {
using namespace mlir;

/// Less --effort than that is for quick searches of addresses alone.
constexpr int64_t kWholePacking = 40'000'000;

struct ChooseRecompute : impl::ChooseRecomputeBase<ChooseRecompute> {
  using Base::Base;
  analysis::DeviceModel model;
  PlanChooserOptions chooserOptions;
  std::optional<int64_t> hostLeft; ///< bytes of host memory for values

  void run() override {
    readOptions();
    std::vector<RecomputeChoice> choices;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        if (failed(begin(function, choices)))
          return signalPassFailure();
    const int64_t held = analysis::heldBytes(getOperation(), threads);
    for (RecomputeChoice &choice : choices)
      choice.bytes = choice.unconstrained = choice.smallest = ownBytes(choice, held);
    const RecomputeReference reference = recomputeReference(getOperation(), choices, held);
    const std::optional<int64_t> limit = limitBytes(held, reference);
    PlanChooser chooser(chooserOptions);
    for (RecomputeChoice &choice : choices)
      chooser.decide(choice, limit ? std::optional(*limit - held) : std::nullopt);
    for (RecomputeChoice &choice : choices)
      mark(choice);
    noteRecompute(getOperation(), choices, {policy.text(), held, limit, reference, frontier}, chooser);
    if (chooser.foldedLaunches)
      addStatistic("launches solved in place of all layers", *chooser.foldedLaunches);
  }

  void readOptions() {
    chooserOptions = {policy,
                      offload,
                      effort,
                      frontier,
                      search != PlanSearch::Whole || (effort > 0 && effort < kWholePacking),
                      search};
    model = analysis::loadDevice(device);
    if (hostBudget > 0)
      hostLeft = hostBudget - analysis::hostStateBytes(getOperation());
  }

  LogicalResult begin(func::FuncOp function, std::vector<RecomputeChoice> &choices) {
    FailureOr<RecomputeGraph> graph = graphOf(function);
    if (failed(graph))
      return failure();
    RecomputeChoice &choice = choices.emplace_back(RecomputeChoice{std::move(*graph)});
    choice.blocks = findBlocks(choice.graph);
    choice.sequence = choice.graph.problem.order;
    choice.peak = solver::peakOf(choice.graph.problem, choice.sequence);
    for (int node : choice.sequence)
      choice.seconds += choice.graph.problem.nodes[node].cost;
    if (offload && failed(allowOffload(choice)))
      return failure();
    keepSmall(choice);
    return success();
  }

  /// Of the function's own order. Who looks for no more than a plan that fits needs no addresses of what does
  /// not.
  int64_t ownBytes(const RecomputeChoice &choice, int64_t held) const {
    if (search != PlanSearch::Whole && budget.kind == MemoryBudget::Kind::Bytes &&
        held + choice.peak > budget.bytes)
      return choice.peak;
    const std::vector<int> &order = choice.sequence;
    return chooserOptions.packsQuickly ? quickBytes(choice.graph.problem, order)
                                       : packedBytes(choice.graph.problem, order);
  }

  FailureOr<RecomputeGraph> graphOf(func::FuncOp function) {
    auto seconds = [&](Operation *op) { return analysis::secondsOf(analysis::costOf(op), model); };
    auto transfer = [&](int64_t bytes) { return analysis::secondsOf(analysis::transferCost(bytes), model); };
    auto workspace = [team = analysis::teamOf(threads)](Operation *op) {
      return analysis::workspaceOf(op, team);
    };
    GraphCosts costs{seconds, transfer, workspace};
    return buildGraph(function, &costs);
  }

  /// Values worth a copy may go to host memory. Under --recompute none nothing else changes.
  LogicalResult allowOffload(RecomputeChoice &choice) {
    std::vector<int64_t> values = offloadableValues(choice.graph, choice.peak / 1024);
    if (hostLeft)
      values = withinBytes(choice.graph, std::move(values), *hostLeft);
    if (values.empty())
      return success();
    sched::OffloadableNote(&getContext())
        .setAttr(choice.graph.function, DenseI64ArrayAttr::get(&getContext(), values));
    FailureOr<RecomputeGraph> graph = graphOf(choice.graph.function);
    if (failed(graph))
      return failure();
    choice.graph = std::move(*graph);
    choice.blocks = findBlocks(choice.graph);
    if (chooserOptions.policy.kind == Policy::Kind::None)
      forbidRecompute(choice.graph);
    return success();
  }

  static void forbidRecompute(RecomputeGraph &graph) {
    auto isSlice = [](const RecomputeGraph::Node &node) { return node.result >= 0; };
    int count = static_cast<int>(llvm::find_if(graph.nodes, isSlice) - graph.nodes.begin());
    graph.nodes.resize(count);
    graph.problem.nodes.resize(count);
    graph.forward.resize(count);
    for (solver::RematNode &node : graph.problem.nodes) {
      node.repeatable = false;
      llvm::erase_if(node.overwrites, [&](int other) { return other >= count; });
    }
  }

  /// Launches that make less than a 4096th of the peak (scalars, rows of statistics) run once, the smallest
  /// first, as long as all that they make is less than a 64th of what one launch reads and makes: they are
  /// not worth a search. The peak is that of the forward part, since gradients that wait for their norm may
  /// be far larger than all activations.
  static void keepSmall(RecomputeChoice &choice) {
    solver::RematProblem &problem = choice.graph.problem;
    std::vector<int64_t> bytes = solver::bytesPerStep(problem, problem.order);
    int64_t peak = 0;
    for (auto [step, node] : llvm::enumerate(problem.order))
      if (choice.graph.forward[node])
        peak = std::max(peak, bytes[step]);
    if (peak == 0)
      peak = choice.peak;
    std::vector<std::pair<int64_t, solver::RematNode *>> small;
    int64_t largest = 0;
    for (solver::RematNode &node : problem.nodes) {
      const int64_t made = bytesOf(problem, node.outputs);
      largest = std::max(largest, made + bytesOf(problem, node.inputs));
      if (node.required && made < peak / 4096)
        small.push_back({made, &node});
    }
    llvm::stable_sort(small, llvm::less_first());
    int64_t kept = 0;
    for (auto [made, node] : small)
      if ((kept += made) <= largest / 64)
        node->repeatable = false;
  }

  static int64_t bytesOf(const solver::RematProblem &problem, ArrayRef<int> values) {
    return llvm::sum_of(llvm::map_range(values, [&](int value) { return problem.values[value].bytes; }),
                        int64_t(0));
  }

  std::optional<int64_t> limitBytes(int64_t persistent, const RecomputeReference &reference) {
    auto share = [&](int64_t bytes) {
      return static_cast<int64_t>(static_cast<double>(bytes) * budget.percent / 100);
    };
    switch (budget.kind) {
    case MemoryBudget::Kind::None:
      return std::nullopt;
    case MemoryBudget::Kind::Bytes:
      return budget.bytes;
    case MemoryBudget::Kind::PeakShare:
      return share(reference.peak);
    case MemoryBudget::Kind::ActivationShare:
      return persistent + share(reference.transient);
    case MemoryBudget::Kind::Device:
      break;
    }
    return model.memoryBytes;
  }

  void mark(RecomputeChoice &choice) {
    if (!choice.changed()) {
      choice.graph.function->removeAttr(sched::OffloadableNote::getNameStr());
      return;
    }
    SmallVector<int64_t> sequence(choice.sequence.begin(), choice.sequence.end());
    sched::SequenceNote(&getContext())
        .setAttr(choice.graph.function, DenseI64ArrayAttr::get(&getContext(), sequence));
    addStatistic("launches to run again",
                 static_cast<int64_t>(sequence.size() - choice.graph.problem.order.size()) -
                     choice.fetches());
    addStatistic("values to fetch", choice.fetches());
    addStatistic("bytes saved at the peak", choice.unconstrained - choice.bytes);
  }
};
} // namespace
} // namespace kedge::remat
