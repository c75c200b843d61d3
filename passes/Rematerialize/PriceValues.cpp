#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Sched/ResultPlaces.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Support/Error.h"
#include "passes/Rematerialize/Alternatives.h"
#include "passes/Rematerialize/HostCopies.h"
#include "passes/Rematerialize/PackSequence.h"
#include "passes/Rematerialize/Passes.h"
#include <fmt/ranges.h>

namespace kedge::remat {
#define GEN_PASS_DEF_PRICEVALUES
#include "passes/Rematerialize/Passes.h.inc"

namespace {
using namespace mlir;

/// A function of a step with the plan that was chosen for it.
struct Planned {
  func::FuncOp function;
  RecomputeGraph graph;
  std::vector<int> sequence;
  int64_t bytes = 0; ///< of its transient values when they are packed
};

PlaceAttr placeOfValue(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result ? sched::placeOfResult(result) : PlaceAttr();
}

struct PriceValues : impl::PriceValuesBase<PriceValues> {
  using Base::Base;
  analysis::DeviceModel model;

  void run() override {
    sched::RecomputeAttr known = sched::RecomputeNote(&getContext()).getAttr(getOperation());
    if (!known)
      fail("the module has no plan: run kedge-choose-recompute first");
    const std::optional<Decision> forced = valueNamed<Decision>(force.getValue());
    if (!force.empty() && !forced)
      fail("force '{}': expected {}", force.getValue(), fmt::join(wordsOf<Decision>(), ", "));
    model = analysis::loadDevice(device);
    std::vector<Planned> all;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        all.push_back(plannedOf(function));
    SmallVector<Attribute> functions;
    for (Planned &planned : all)
      if (isOfStep(planned.function))
        functions.push_back(factsOf(planned, all, forced));
    Builder builder(&getContext());
    sched::PricesNote(&getContext()).setAttr(getOperation(), builder.getArrayAttr(functions));
    addStatistic("values priced", priced);
    if (forced && priced != 1)
      fail("force {}: expected one value to decide about, found {}", force.getValue(), priced);
  }

  static bool isOfStep(func::FuncOp function) {
    std::optional<train::FunctionKind> kind = train::kindOf(function);
    return kind && train::runsInStep(*kind, /*accumulate=*/1) > 0;
  }

  RecomputeGraph graphOf(func::FuncOp function) {
    auto seconds = [&](Operation *op) { return analysis::secondsOf(analysis::costOf(op), model); };
    auto transfer = [&](int64_t bytes) { return analysis::secondsOf(analysis::transferCost(bytes), model); };
    auto workspace = [team = analysis::teamOf(threads)](Operation *op) {
      return analysis::workspaceOf(op, team);
    };
    GraphCosts costs{seconds, transfer, workspace, /*ofResults=*/true};
    FailureOr<RecomputeGraph> graph = buildGraph(function, &costs);
    if (failed(graph))
      fail("@{} has a launch without a kernel", function.getName().str());
    return std::move(*graph);
  }

  Planned plannedOf(func::FuncOp function) {
    Planned planned{function, graphOf(function), {}};
    if (auto sequence = sched::SequenceNote(&getContext()).getAttr(function))
      planned.sequence.assign(sequence.asArrayRef().begin(), sequence.asArrayRef().end());
    else
      planned.sequence = planned.graph.problem.order;
    planned.bytes = packedBytes(planned.graph.problem, planned.sequence);
    return planned;
  }

  bool isWanted(const Planned &planned, int value) const {
    return !planned.graph.isHostCopy[value] &&
           llvm::is_contained(numbers,
                              func::FuncOp(planned.function).getName().str() + "#" + std::to_string(value));
  }

  Attribute factsOf(Planned &planned, const std::vector<Planned> &all, std::optional<Decision> forced) {
    Builder builder(&getContext());
    SmallVector<Attribute> values;
    std::vector<int> wanted;
    for (int value = 0; value < static_cast<int>(planned.graph.values.size()); ++value)
      if (isWanted(planned, value))
        wanted.push_back(value);
    allowOffload(planned, wanted);
    for (int value = 0; value < static_cast<int>(planned.graph.values.size()); ++value)
      if (!planned.graph.isHostCopy[value])
        values.push_back(valueFacts(planned, value, llvm::is_contained(wanted, value), all));
    NamedAttrList list;
    list.set("function", builder.getStringAttr(planned.function.getName()));
    list.set("values", builder.getArrayAttr(values));
    if (forced && wanted.size() == 1)
      decide(planned, wanted.front(), *forced, all);
    list.set("runs", runsOf(planned));
    return list.getDictionary(&getContext());
  }

  /// Fetches of the wanted values become nodes, behind the launches: the numbers of single results shift.
  void allowOffload(Planned &planned, const std::vector<int> &wanted) {
    sched::OffloadableNote note(&getContext());
    DenseI64ArrayAttr before = note.getAttr(planned.function);
    SmallVector<int64_t> allowed;
    if (before)
      llvm::append_range(allowed, before.asArrayRef());
    for (int64_t value : offloadableValues(planned.graph, 1))
      if (llvm::is_contained(wanted, value) && !llvm::is_contained(allowed, value))
        allowed.push_back(value);
    if (static_cast<int64_t>(allowed.size()) == (before ? before.size() : 0))
      return;
    llvm::sort(allowed);
    note.setAttr(planned.function, DenseI64ArrayAttr::get(&getContext(), allowed));
    RecomputeGraph wider = graphOf(planned.function);
    for (int &run : planned.sequence) {
      const RecomputeGraph::Node &old = planned.graph.nodes[run];
      auto same = llvm::find_if(wider.nodes, [&](const RecomputeGraph::Node &node) {
        return node.op == old.op && node.result == old.result && node.fetched == old.fetched;
      });
      run = static_cast<int>(same - wider.nodes.begin());
    }
    planned.graph = std::move(wider);
    widened = before;
  }

  Attribute valueFacts(const Planned &planned, int value, bool isWanted, const std::vector<Planned> &all) {
    Builder b(&getContext());
    const RecomputeGraph &graph = planned.graph;
    NamedAttrList facts;
    facts.set("number", b.getI64IntegerAttr(value));
    facts.set("bytes", b.getI64IntegerAttr(sched::bytesOf(graph.values[value].getType())));
    facts.set("type", TypeAttr::get(graph.values[value].getType()));
    if (graph.problem.values[value].keptToEnd)
      facts.set("kept_to_end", b.getUnitAttr());
    if (PlaceAttr place = placeOfValue(graph.values[value]))
      facts.set("place", place);
    if (auto argument = dyn_cast<BlockArgument>(graph.values[value]))
      facts.set(
          "input",
          train::bindingOfArgument(func::FuncOp(planned.function), argument.getArgNumber()).getTarget());
    if (SmallVector<Attribute> views = viewsOf(graph.values[value]); !views.empty())
      facts.set("views", b.getArrayAttr(views));
    if (std::optional<Decision> chosen = decisionIn(graph, planned.sequence, value))
      facts.set("chosen", b.getStringAttr(wordOf(*chosen)));
    if (isWanted) {
      ++priced;
      for (Decision decision : {Decision::Keep, Decision::Recompute, Decision::Offload})
        facts.set(wordOf(decision), priceOf(planned, value, decision, all));
    }
    return facts.getDictionary(&getContext());
  }

  /// Places of what has the same bytes under another shape.
  static SmallVector<Attribute> viewsOf(Value value) {
    SmallVector<Attribute> places;
    SmallVector<Value> open{value};
    while (!open.empty()) {
      Value next = open.pop_back_val();
      for (Operation *user : next.getUsers())
        if (auto view = dyn_cast<sched::ViewOp>(user)) {
          open.push_back(view.getResult());
          if (PlaceAttr place = placeOf(view))
            places.push_back(place);
        }
    }
    return places;
  }

  /// The peak of the whole plan and the seconds of the function with this decision; or why it cannot be made.
  Attribute priceOf(const Planned &planned, int value, Decision decision, const std::vector<Planned> &all) {
    Builder b(&getContext());
    NamedAttrList price;
    Alternative changed = withDecision(planned.graph, planned.sequence, value, decision);
    if (changed.sequence.empty()) {
      price.set("obstacle", b.getStringAttr(changed.obstacle));
      return price.getDictionary(&getContext());
    }
    price.set("peak_bytes", b.getI64IntegerAttr(peakWith(planned, changed.sequence, all)));
    price.set("seconds", b.getF64FloatAttr(secondsOf(planned.graph, changed.sequence)));
    return price.getDictionary(&getContext());
  }

  int64_t peakWith(const Planned &planned, const std::vector<int> &sequence,
                   const std::vector<Planned> &all) {
    int64_t bytes =
        sequence == planned.sequence ? planned.bytes : packedBytes(planned.graph.problem, sequence);
    for (const Planned &other : all)
      if (other.function != planned.function)
        bytes = std::max(bytes, other.bytes);
    return analysis::heldBytes(getOperation(), threads) + bytes;
  }

  /// The plan becomes the one with this decision, and so do its facts.
  void decide(Planned &planned, int value, Decision decision, const std::vector<Planned> &all) {
    Alternative changed = withDecision(planned.graph, planned.sequence, value, decision);
    if (changed.sequence.empty())
      fail("force {}: {}", wordOf(decision), changed.obstacle);
    Builder b(&getContext());
    const int64_t peak = peakWith(planned, changed.sequence, all);
    noteDecision(planned, changed.sequence, peak);
    planned.sequence = std::move(changed.sequence);
    const bool moves = planned.sequence != planned.graph.problem.order;
    if (moves)
      sched::SequenceNote(&getContext())
          .setAttr(planned.function,
                   DenseI64ArrayAttr::get(&getContext(), SmallVector<int64_t>(planned.sequence.begin(),
                                                                              planned.sequence.end())));
    else
      planned.function->removeAttr(sched::SequenceNote::getNameStr());
    decided = true;
  }

  /// The plan's facts with `sequence` in place of that of the function.
  void noteDecision(const Planned &planned, const std::vector<int> &sequence, int64_t peak) {
    sched::RecomputeNote note(&getContext());
    const sched::RecomputeAttr known = note.getAttr(getOperation());
    Builder b(&getContext());
    const RecomputeGraph &graph = planned.graph;
    const double whole = known.getSeconds().getValueAsDouble();
    const double added = secondsOf(graph, sequence) - secondsOf(graph, planned.sequence);
    const double overhead = known.getOverhead().getValueAsDouble() + added / whole;
    const int64_t ops = known.getOps().getInt() + repeats(graph, sequence) - repeats(graph, planned.sequence);
    const double flops =
        known.getFlops().getValueAsDouble() + flopsOf(graph, sequence) - flopsOf(graph, planned.sequence);
    const IntegerAttr budget = known.getBudgetBytes();
    note.setAttr(
        getOperation(),
        sched::RecomputeAttr::get(&getContext(), known.getPolicy(),
                                  budget ? b.getBoolAttr(peak <= budget.getInt()) : known.getFits(), budget,
                                  known.getUnconstrainedPeakBytes(), known.getUnconstrainedTransientBytes(),
                                  known.getSmallestFeasibleBytes(), known.getProvenFloorBytes(),
                                  known.getSeconds(), b.getI64IntegerAttr(ops), b.getF64FloatAttr(flops),
                                  b.getF64FloatAttr(whole > 0 ? overhead : 0), known.getLowerBound(),
                                  known.getBlocks(), known.getFrontier()));
  }

  static int64_t repeats(const RecomputeGraph &graph, const std::vector<int> &sequence) {
    return llvm::count_if(sequence, [&](int node) { return graph.nodes[node].fetched < 0; });
  }
  static double flopsOf(const RecomputeGraph &graph, const std::vector<int> &sequence) {
    double flops = 0;
    for (int node : sequence)
      if (graph.nodes[node].fetched < 0)
        flops += analysis::costOf(graph.nodes[node].op).flops;
    return flops;
  }

  /// For each launch that kedge-insert-recompute makes of the sequence, the values that it writes; ~v is the
  /// copy of v in host memory.
  Attribute runsOf(Planned &planned) {
    const RecomputeGraph &graph = planned.graph;
    Builder b(&getContext());
    SmallVector<Attribute> runs;
    llvm::DenseSet<int> fetched;
    llvm::DenseSet<Operation *> ran;
    for (int node : planned.sequence)
      if (graph.nodes[node].fetched >= 0)
        fetched.insert(graph.nodes[node].fetched);
    for (int index : planned.sequence) {
      const RecomputeGraph::Node &node = graph.nodes[index];
      SmallVector<int64_t> written;
      if (node.fetched >= 0)
        written.push_back(node.fetched);
      else if (node.result >= 0)
        written.push_back(graph.valueOf.lookup(node.op->getResult(node.result)));
      else
        for (OpResult result : node.op->getResults())
          written.push_back(graph.valueOf.lookup(result));
      runs.push_back(b.getDenseI64ArrayAttr(written));
      if (node.isLaunch() && ran.insert(node.op).second)
        for (int64_t value : written)
          if (fetched.contains(static_cast<int>(value)))
            runs.push_back(b.getDenseI64ArrayAttr({~value}));
    }
    restoreNotes(planned);
    return b.getArrayAttr(runs);
  }

  /// Where nothing was forced, kedge-insert-recompute finds the notes and numbers of kedge-choose-recompute.
  void restoreNotes(Planned &planned) {
    sched::OffloadableNote note(&getContext());
    const bool moves = sched::SequenceNote(&getContext()).isAttrPresent(planned.function);
    if (!moves || (widened && !decided && !*widened))
      planned.function->removeAttr(sched::OffloadableNote::getNameStr());
    else if (widened && !decided)
      note.setAttr(planned.function, *widened);
    widened.reset();
    decided = false;
  }

  int64_t priced = 0;
  std::optional<DenseI64ArrayAttr> widened; ///< `sched.offloadable` of the function before values were added
  bool decided = false;                     ///< whether the function's plan was forced
};
} // namespace
} // namespace kedge::remat
