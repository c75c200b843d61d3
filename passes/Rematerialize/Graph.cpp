#include "passes/Rematerialize/Graph.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/abi/LossNames.h"
#include "lib/Analysis/LibraryCall.h"
#include "passes/Rematerialize/ResultSlice.h"

using namespace mlir;
using kedge::sched::rootOf;

namespace kedge::remat {
namespace {

class Builder {
public:
  Builder(func::FuncOp function, const GraphCosts *costs)
      : costs(costs), alignment(analysis::arenaAlignment(function->getParentOfType<ModuleOp>())) {
    graph.function = function;
  }

  FailureOr<RecomputeGraph> run() {
    addInputs();
    for (Operation &op : graph.function.getBody().front().without_terminator())
      if (failed(add(op)))
        return failure();
    launches = graph.nodes.size();
    bindReturned();
    if (failed(addFetches()))
      return failure();
    for (size_t i = 0; i < launches; ++i)
      addResults(i);
    addOverwrites();
    markForward();
    return std::move(graph);
  }

private:
  int64_t aligned(int64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }

  int addValue(Value value, int64_t bytes, bool given) {
    graph.valueOf[value] = static_cast<int>(graph.values.size());
    graph.values.push_back(value);
    graph.isHostCopy.push_back(false);
    graph.problem.values.push_back({aligned(bytes), given, false});
    return graph.valueOf[value];
  }

  void addInputs() {
    for (BlockArgument argument : graph.function.getArguments())
      if (train::bindingOfArgument(graph.function, argument.getArgNumber(), train::BindingKind::Input))
        addValue(argument, sched::bytesOf(argument.getType()), true);
  }

  LogicalResult add(Operation &op) {
    if (sched::isLaunch(op))
      return addLaunch(op);
    if (isa<sched::ViewOp, onnx::ConstantOp, train::FinalGradientOp>(op))
      return success();
    return op.emitOpError("is not scheduled: run kedge-form-clusters first");
  }

  LogicalResult addLaunch(Operation &op) {
    solver::RematNode node;
    node.cost = costs ? costs->seconds(&op) : 1;
    if (costs) {
      FailureOr<int64_t> bytes = costs->workspace(&op);
      if (failed(bytes))
        return failure();
      node.workspace = aligned(*bytes);
    }
    for (Value operand : op.getOperands())
      if (auto found = graph.valueOf.find(rootOf(operand));
          found != graph.valueOf.end() && !llvm::is_contained(node.inputs, found->second))
        node.inputs.push_back(found->second);
    for (OpResult result : op.getResults())
      node.outputs.push_back(
          addValue(result, isa<sched::OffloadOp>(op) ? 0 : sched::bytesOf(result.getType()), false));
    addReuses(op, node);
    node.repeatable = !isTransfer(op);
    graph.problem.order.push_back(static_cast<int>(graph.nodes.size()));
    launchOf[&op] = graph.nodes.size();
    graph.nodes.push_back({&op});
    graph.problem.nodes.push_back(std::move(node));
    return success();
  }

  /// The other rank has its end of it once.
  static bool isTransfer(Operation &op) {
    auto library = dyn_cast<sched::LibraryOp>(op);
    return library && library.callsAny<dist::SendOp, dist::ReceiveOp>();
  }

  void addReuses(Operation &op, solver::RematNode &node) {
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      for (auto [i, input] : llvm::enumerate(node.inputs)) {
        Value root = graph.values[input];
        bool sameSize = graph.problem.values[input].bytes == graph.problem.values[node.outputs[k]].bytes;
        if (sameSize && sched::mayOverwrite(result, root))
          node.reuses.push_back({static_cast<int>(k), static_cast<int>(i)});
      }
  }

  /// State and results lie in the persistent region, where they are from the first execution on; outputs stay
  /// in the transient region to the end.
  void bindReturned() {
    func::FuncOp function = graph.function;
    for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
      auto found = graph.valueOf.find(rootOf(value));
      if (found == graph.valueOf.end())
        continue;
      auto output = train::bindingOfResult(function, index, train::BindingKind::Output);
      // The host reads it as soon as it is there.
      if (output && output.getPart())
        continue;
      solver::RematValue &bound = graph.problem.values[found->second];
      bound.keptToEnd = true;
      if (output)
        continue;
      bound.bytes = 0;
      if (Operation *op = rootOf(value).getDefiningOp())
        once(op);
    }
    for (solver::RematNode &node : graph.problem.nodes)
      llvm::erase_if(node.reuses, [&](const solver::RematNode::Reuse &reuse) {
        const solver::RematValue &output = graph.problem.values[node.outputs[reuse.output]];
        const solver::RematValue &input = graph.problem.values[node.inputs[reuse.input]];
        return output.keptToEnd || input.keptToEnd;
      });
  }

  LogicalResult addFetches() {
    auto values = sched::OffloadableNote(graph.function.getContext()).getAttr(graph.function);
    int64_t count = static_cast<int64_t>(graph.values.size());
    for (int64_t value : values ? values.asArrayRef() : ArrayRef<int64_t>()) {
      if (value < 0 || value >= count || !graph.values[value].getDefiningOp() ||
          graph.problem.values[value].keptToEnd)
        return graph.function.emitOpError()
               << "'sched.offloadable' names value " << value << ", which is no transient result of a launch";
      addFetch(static_cast<int>(value));
    }
    return success();
  }

  void addFetch(int value) {
    Operation *op = graph.values[value].getDefiningOp();
    int copy = static_cast<int>(graph.values.size());
    graph.values.push_back(graph.values[value]);
    graph.isHostCopy.push_back(true);
    graph.problem.values.push_back({});
    graph.problem.nodes[launchOf.lookup(op)].outputs.push_back(copy);
    solver::RematNode node;
    node.required = node.repeatable = false;
    node.cost = costs ? 2 * costs->transfer(graph.problem.values[value].bytes) : 1;
    node.inputs = {copy};
    node.outputs = {value};
    graph.nodes.push_back({op, -1, value});
    graph.problem.nodes.push_back(std::move(node));
  }

  void once(Operation *op) {
    if (auto launch = launchOf.find(op); launch != launchOf.end())
      graph.problem.nodes[launch->second].repeatable = false;
  }

  /// New state is written over old state: whoever reads the old one comes first.
  void addOverwrites() {
    func::FuncOp function = graph.function;
    DenseMap<Operation *, SmallVector<int>> nodesOf;
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      nodesOf[node.op].push_back(static_cast<int>(i));
    DenseMap<Attribute, Value> written;
    for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      if (Attribute state = train::stateOfResult(function, index))
        written[state] = rootOf(value);
    for (BlockArgument argument : function.getArguments()) {
      auto found = written.find(train::stateOfArgument(function, argument.getArgNumber()));
      if (found == written.end() || !found->second.getDefiningOp())
        continue;
      Operation *writer = found->second.getDefiningOp();
      std::vector<int> &overwrites = graph.problem.nodes[nodesOf[writer].front()].overwrites;
      readersOf(argument, [&](Operation *reader) {
        for (int node : nodesOf[reader])
          if (reader != writer && readsState(graph.nodes[node], argument) &&
              !llvm::is_contained(overwrites, node))
            overwrites.push_back(node);
      });
    }
  }

  static bool readsState(const RecomputeGraph::Node &node, Value state) {
    if (node.fetched >= 0)
      return false;
    if (node.result < 0)
      return true;
    return llvm::any_of(sliceOf(cast<sched::ClusterOp>(node.op), node.result).inputs,
                        [&](unsigned i) { return rootOf(node.op->getOperand(i)) == state; });
  }

  void readersOf(Value value, llvm::function_ref<void(Operation *)> visit) {
    for (Operation *user : value.getUsers()) {
      if (auto view = dyn_cast<sched::ViewOp>(user))
        readersOf(view.getResult(), visit);
      else if (sched::isLaunch(*user))
        visit(user);
    }
  }

  /// Other ways to the results of a cluster that has several: each alone.
  void addResults(size_t launch) {
    auto cluster = dyn_cast<sched::ClusterOp>(graph.nodes[launch].op);
    if (!cluster || cluster->getNumResults() < 2 || !graph.problem.nodes[launch].repeatable)
      return;
    for (unsigned result = 0; result < cluster->getNumResults(); ++result) {
      ResultSlice slice = sliceOf(cluster, result);
      if (slice.reduces)
        continue;
      solver::RematNode node;
      node.required = false;
      node.cost = costs && costs->ofResults
                      ? costAlone(cluster, result)
                      : graph.problem.nodes[launch].cost * shareOf(cluster, result, slice);
      node.outputs = {graph.valueOf.lookup(cluster.getResult(result))};
      auto read = [&](Value value) {
        if (auto found = graph.valueOf.find(rootOf(value));
            found != graph.valueOf.end() && !llvm::is_contained(node.inputs, found->second))
          node.inputs.push_back(found->second);
      };
      for (unsigned i : slice.inputs)
        read(cluster.getInputs()[i]);
      for (unsigned i : slice.results)
        read(cluster.getResult(i));
      addReuses(cluster, result, slice, node);
      graph.nodes.push_back({cluster, static_cast<int>(result), -1});
      graph.problem.nodes.push_back(std::move(node));
    }
  }

  /// As sched::mayOverwrite judges the cluster of one result, which is not there yet.
  void addReuses(sched::ClusterOp cluster, unsigned result, const ResultSlice &slice,
                 solver::RematNode &node) {
    auto type = cast<RankedTensorType>(cluster.getResult(result).getType());
    Attribute written = cluster.getOutputMaps()[result];
    auto fits = [&](Value tensor, Attribute map) {
      auto read = cast<RankedTensorType>(tensor.getType());
      return map == written && read.getShape() == type.getShape() &&
             read.getElementTypeBitWidth() == type.getElementTypeBitWidth();
    };
    if (graph.problem.values[node.outputs.front()].keptToEnd)
      return;
    for (auto [place, input] : llvm::enumerate(node.inputs)) {
      Value root = graph.values[input];
      bool all =
          !graph.problem.values[input].keptToEnd && sched::bytesOf(root.getType()) == sched::bytesOf(type);
      for (unsigned i : slice.inputs)
        all &=
            rootOf(cluster.getInputs()[i]) != root || fits(cluster.getInputs()[i], cluster.getInputMaps()[i]);
      for (unsigned i : slice.results)
        all &= cluster.getResult(i) != root || fits(root, cluster.getOutputMaps()[i]);
      if (all)
        node.reuses.push_back({0, static_cast<int>(place)});
    }
  }

  double costAlone(sched::ClusterOp cluster, unsigned result) {
    OpBuilder builder(cluster);
    const SmallVector<Value> results(cluster->getResults());
    sched::ClusterOp alone = cloneResult(builder, cluster, result, cluster.getInputs(), results);
    const double seconds = costs->seconds(alone);
    alone.erase();
    return seconds;
  }

  /// The part of the launch's time that one result takes: its share of the bytes moved.
  static double shareOf(sched::ClusterOp cluster, unsigned result, const ResultSlice &slice) {
    double all = 0, own = sched::bytesOf(cluster.getResult(result).getType());
    for (Value input : cluster.getInputs())
      all += sched::bytesOf(input.getType());
    for (Value output : cluster.getOutputs())
      all += sched::bytesOf(output.getType());
    for (unsigned i : slice.inputs)
      own += sched::bytesOf(cluster.getInputs()[i].getType());
    for (unsigned i : slice.results)
      own += sched::bytesOf(cluster.getResult(i).getType());
    return all > 0 ? std::min(1.0, own / all) : 1;
  }

  /// The loss is a result named loss_sum or loss; without updates or gradients there is nothing to
  /// rematerialize.
  void markForward() {
    graph.forward.assign(graph.nodes.size(), false);
    func::FuncOp function = graph.function;
    SmallVector<Value> open;
    for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      if (auto result = train::bindingOfResult(function, index, train::BindingKind::Result))
        if (result.getName().contains("loss") || result.getName() == "items" ||
            result.getName().starts_with(abi::kMetricPrefix))
          open.push_back(rootOf(value));
    DenseSet<Operation *> seen;
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || !seen.insert(op).second)
        continue;
      for (Value operand : op->getOperands())
        open.push_back(rootOf(operand));
    }
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      graph.forward[i] = node.fetched < 0 && seen.contains(node.op);
  }

  RecomputeGraph graph;
  DenseMap<Operation *, size_t> launchOf; ///< its node
  const GraphCosts *costs;
  int64_t alignment;
  size_t launches = 0;
};

} // namespace

FailureOr<RecomputeGraph> buildGraph(func::FuncOp function, const GraphCosts *costs) {
  return Builder(function, costs).run();
}

} // namespace kedge::remat
