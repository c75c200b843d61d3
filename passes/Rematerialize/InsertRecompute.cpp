#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Support/MemoryBudget.h"
#include "passes/Rematerialize/Graph.h"
#include "passes/Rematerialize/Passes.h"
#include "passes/Rematerialize/ResultSlice.h"
#include <fmt/format.h>

namespace kedge::remat {
#define GEN_PASS_DEF_INSERTRECOMPUTE
#include "passes/Rematerialize/Passes.h.inc"

namespace {
using namespace mlir;

class Rewriter {
public:
  explicit Rewriter(RecomputeGraph graph)
      : graph(std::move(graph)), builder(this->graph.function.getContext()) {
    Block &block = this->graph.function.getBody().front();
    terminator = block.getTerminator();
    firstNumber = largestNumber(this->graph.function);
    // What is no launch follows the value that it reads: views on demand, marks of final gradients at once.
    for (Operation &op : block)
      if (isa<train::FinalGradientOp>(op))
        marks[sched::rootOf(op.getOperand(0))].push_back(&op);
    for (sched::ViewOp view : llvm::to_vector(block.getOps<sched::ViewOp>()))
      view->moveBefore(terminator);
  }

  void run(ArrayRef<int64_t> sequence) {
    findDeaths(sequence);
    for (int64_t number : sequence)
      if (int value = graph.nodes[number].fetched; value >= 0)
        wanted.insert(graph.values[value]);
    for (auto [at, number] : llvm::enumerate(sequence))
      execute(static_cast<int>(number), static_cast<int64_t>(at));
    builder.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(current(operand.get()));
    dropUnusedViews();
  }

  int64_t clones = 0, copies = 0;

private:
  /// The largest number of a clone that was there before.
  static int64_t largestNumber(func::FuncOp function) {
    int64_t largest = 0;
    for (Operation &op : function.getBody().front())
      if (auto number = op.getAttrOfType<IntegerAttr>("clone"))
        largest = std::max(largest, number.getInt());
    return largest;
  }

  /// Last reads before each repeated execution: from there to here the bytes are free.
  void findDeaths(ArrayRef<int64_t> sequence) {
    std::vector<int64_t> lastTouched(graph.values.size(), -1);
    for (auto [at, number] : llvm::enumerate(sequence)) {
      const solver::RematNode &node = graph.problem.nodes[number];
      for (int output : node.outputs) {
        death[{static_cast<int64_t>(at), output}] = lastTouched[output];
        lastTouched[output] = static_cast<int64_t>(at);
      }
      for (int input : node.inputs)
        lastTouched[input] = static_cast<int64_t>(at);
    }
  }

  void execute(int number, int64_t at) {
    const RecomputeGraph::Node &node = graph.nodes[number];
    if (node.fetched >= 0)
      return fetch(graph.values[node.fetched], reason(graph.problem.nodes[number], at));
    bool again = !executed.insert(node.op).second;
    builder.setInsertionPoint(terminator);
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(operandsOf(node.op)))
      operands.push_back(node.result < 0 || isRead(node, i) ? current(operand) : operand);
    if (!again) {
      node.op->moveBefore(terminator);
      node.op->setOperands(operands);
      for (OpResult result : node.op->getResults())
        becomes(result, result);
      copyOut(node.op);
      return;
    }
    Operation *copy = cloneOf(node, operands);
    copy->setAttr("clone", builder.getI64IntegerAttr(firstNumber + ++clones));
    copy->setAttr("recomputed", builder.getStringAttr(reason(graph.problem.nodes[number], at)));
  }

  /// Right behind the launch, where the value lives anyway.
  void copyOut(Operation *op) {
    builder.setInsertionPoint(terminator);
    for (OpResult result : op->getResults())
      if (wanted.contains(result)) {
        auto copy = sched::OffloadOp::create(builder, result.getLoc(), result.getType(), result, StringAttr(),
                                             UnitAttr());
        setPlace(copy, placeOf(op));
        onHost[result] = copy.getResult();
      }
  }

  void fetch(Value value, const std::string &why) {
    ++copies;
    builder.setInsertionPoint(terminator);
    auto copy = sched::FetchOp::create(builder, value.getLoc(), value.getType(), onHost.lookup(value),
                                       IntegerAttr(), builder.getStringAttr(why), StringAttr(), UnitAttr());
    setPlace(copy, placeOfProducer(value));
    if (auto offload = copy.getInput().getDefiningOp<sched::OffloadOp>())
      offload.setOffloaded(why);
    becomes(value, copy.getResult());
  }

  /// A single result may be made when values that only the others need are gone.
  static bool isRead(const RecomputeGraph::Node &node, unsigned operand) {
    return llvm::is_contained(sliceOf(cast<sched::ClusterOp>(node.op), node.result).inputs, operand);
  }

  /// The operands of the first execution, before it was changed to read values that were computed again.
  ArrayRef<Value> operandsOf(Operation *op) {
    auto [found, isNew] = originals.try_emplace(op);
    if (isNew)
      found->second.assign(op->operand_begin(), op->operand_end());
    return found->second;
  }

  Operation *cloneOf(const RecomputeGraph::Node &node, ArrayRef<Value> operands) {
    if (node.result < 0) {
      Operation *copy = builder.clone(*node.op);
      copy->setOperands(operands);
      for (OpResult result : node.op->getResults())
        becomes(result, copy->getResult(result.getResultNumber()));
      return copy;
    }
    auto cluster = cast<sched::ClusterOp>(node.op);
    SmallVector<Value> results;
    for (OpResult result : cluster->getResults())
      results.push_back(instance.lookup(result));
    auto copy = cloneResult(builder, cluster, node.result, operands, results);
    becomes(cluster.getResult(node.result), copy.getResult(0));
    return copy;
  }

  void becomes(Value value, Value now) {
    instance[value] = now;
    auto found = marks.find(value);
    if (found == marks.end())
      return;
    for (Operation *mark : found->second) {
      builder.setInsertionPoint(terminator);
      Value read = current(mark->getOperand(0));
      mark->moveBefore(terminator);
      mark->setOperand(0, read);
    }
    marks.erase(found);
  }

  /// The latest instance of `value`; views of it are made where they are first needed.
  Value current(Value value) {
    auto view = value.getDefiningOp<sched::ViewOp>();
    if (!view) {
      auto found = instance.find(value);
      return found == instance.end() ? value : found->second;
    }
    Value input = current(view.getInput());
    Value &known = views[{view, input}];
    if (known)
      return known;
    if (input == view.getInput() && !placed.contains(view)) {
      placed.insert(view);
      view->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      return known = view.getResult();
    }
    auto copy = sched::ViewOp::create(builder, view.getLoc(), view.getResult().getType(), input);
    setPlace(copy, placeOf(view));
    return known = copy.getResult();
  }

  void dropUnusedViews() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(graph.function.getBody().front())))
      if (isa<sched::ViewOp>(op) && op.use_empty())
        op.erase();
  }

  std::string reason(const solver::RematNode &node, int64_t at) {
    int64_t bytes = 0, since = at;
    for (int output : node.outputs) {
      bytes += graph.problem.values[output].bytes;
      since = std::min(since, death.lookup({at, output}));
    }
    return fmt::format("frees {} from launch {} to {}", formatBytes(bytes), since, at);
  }

  RecomputeGraph graph;
  OpBuilder builder;
  Operation *terminator;
  int64_t firstNumber = 0; ///< clones that were there keep their numbers
  llvm::DenseSet<Operation *> executed, placed;
  DenseMap<Operation *, SmallVector<Value>> originals;
  DenseMap<Value, Value> instance, onHost;
  llvm::DenseSet<Value> wanted; ///< values that are fetched
  DenseMap<std::pair<Operation *, Value>, Value> views;
  DenseMap<Value, SmallVector<Operation *>> marks;
  DenseMap<std::pair<int64_t, int>, int64_t> death;
};

struct InsertRecompute : impl::InsertRecomputeBase<InsertRecompute> {
  void run() override {
    sched::SequenceNote note(&getContext());
    DenseI64ArrayAttr sequence = note.getAttr(getOperation());
    if (!sequence)
      return;
    FailureOr<RecomputeGraph> graph = buildGraph(getOperation());
    note.removeAttr(getOperation());
    getOperation()->removeAttr(sched::OffloadableNote::getNameStr());
    if (failed(graph) || failed(check(*graph, sequence)))
      return signalPassFailure();
    Rewriter rewriter(std::move(*graph));
    rewriter.run(sequence);
    addStatistic("launches cloned", rewriter.clones);
    addStatistic("values fetched", rewriter.copies);
  }

  LogicalResult check(const RecomputeGraph &graph, DenseI64ArrayAttr sequence) {
    std::vector<int> numbers;
    for (int64_t number : sequence.asArrayRef()) {
      if (number < 0 || number >= static_cast<int64_t>(graph.nodes.size()))
        return getOperation().emitOpError()
               << "'sched.sequence' names launch " << number << ", expected 0 to " << graph.nodes.size() - 1;
      numbers.push_back(static_cast<int>(number));
    }
    if (solver::peakOf(graph.problem, numbers) < 0)
      return getOperation().emitOpError(
          "'sched.sequence' is no execution of this function: a launch is missing, reads "
          "what is not there, or reads state after its update");
    return success();
  }
};
} // namespace
} // namespace kedge::remat
