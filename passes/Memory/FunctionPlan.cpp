#include "passes/Memory/FunctionPlan.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "lib/Analysis/PersistentRegion.h"

using namespace mlir;

namespace kedge::memory {
using train::BindingKind;

namespace {

/// Buffers are called after where they are computed.
std::string nameOf(OpResult result) {
  PlaceAttr place = placeOf(result.getOwner());
  return place ? place.label().str() : "";
}

class Planner {
public:
  Planner(func::FuncOp function, ConstantTable &constants)
      : constants(constants), onHost(analysis::hostStates(function->getParentOfType<ModuleOp>())) {
    plan.function = function;
  }

  FailureOr<FunctionPlan> run(function_ref<FailureOr<int64_t>(Operation *)> workspaceOf) {
    numberLaunches();
    if (failed(bindArguments()) || failed(bindResults()))
      return failure();
    for (Operation &op : plan.function.getBody().front().without_terminator())
      if (failed(place(op, workspaceOf)))
        return failure();
    closeLifetimes();
    return std::move(plan);
  }

private:
  void numberLaunches() {
    int64_t next = 0;
    for (Operation &op : plan.function.getBody().front().without_terminator())
      if (sched::isLaunch(op))
        position[&op] = next++;
    end = next;
  }

  size_t addBuffer(PlannedBuffer buffer) {
    plan.buffers.push_back(std::move(buffer));
    return plan.buffers.size() - 1;
  }

  /// The last launch that reads the bytes of `value`, directly or through views.
  int64_t lastUse(Value value) {
    int64_t last = -1;
    for (Operation *user : value.getUsers()) {
      if (auto view = dyn_cast<sched::ViewOp>(user))
        last = std::max(last, lastUse(view.getResult()));
      else if (auto found = position.find(user); found != position.end())
        last = std::max(last, found->second);
    }
    return last;
  }

  PlannedBuffer bound(train::BindingAttr binding, Type type, int64_t first, int64_t last) {
    return {binding.getName().str(), type, sched::bytesOf(type), first, last, 0, false, binding};
  }

  LogicalResult bindArguments() {
    for (BlockArgument argument : plan.function.getArguments()) {
      train::BindingAttr binding = train::bindingOfArgument(plan.function, argument.getArgNumber());
      if (!binding)
        return plan.function.emitOpError() << "argument " << argument.getArgNumber()
                                           << " is bound to nothing: no place in memory follows";
      if (binding.is(BindingKind::State))
        bufferOf[argument] = stateBuffer(binding, argument.getType());
      else
        bufferOf[argument] = addBuffer(binding.is(BindingKind::Scalar)
                                           ? bound(binding, argument.getType(), -1, end)
                                           : bound(binding, argument.getType(), -1, lastUse(argument)));
    }
    return success();
  }

  /// Values that are returned get their place now, so that the op that defines them writes it.
  LogicalResult bindResults() {
    Operation *terminator = plan.function.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      Value root = sched::rootOf(value);
      train::BindingAttr binding = train::bindingOfResult(plan.function, index);
      if (binding && binding.is(BindingKind::State))
        bufferOf.try_emplace(root, stateBuffer(binding, value.getType()));
      else if (binding && binding.is(BindingKind::Result))
        bufferOf[root] = addBuffer(bound(binding, value.getType(), -1, end));
      else if (binding && binding.is(BindingKind::Output))
        bindOutput(root, value.getType(), binding);
      else
        return plan.function.emitOpError()
               << "result " << index << " is no state, result or output: no place in memory follows";
    }
    return success();
  }

  /// The host reads an output at the end, a part of one right after the launch that writes it.
  void bindOutput(Value root, Type type, train::BindingAttr output) {
    PlannedBuffer buffer = bound(output, type, position.lookup(root.getDefiningOp()), end);
    if (output.getPart())
      buffer.last = std::max(buffer.first, lastUse(root));
    bufferOf[root] = addBuffer(buffer);
  }

  size_t stateBuffer(train::BindingAttr state, Type type) {
    if (auto known = states.find(state); known != states.end())
      return known->second;
    PlannedBuffer buffer = bound(state, type, -1, end);
    buffer.host = onHost.contains(state.getSymbol().getAttr());
    return states[state] = addBuffer(std::move(buffer));
  }

  size_t constantBuffer(onnx::ConstantOp constant) {
    std::string fresh = "constant." + std::to_string(constants.size());
    std::string name = constants.try_emplace(constant.getValue(), fresh).first->second;
    return stateBuffer(train::BindingAttr::get(constant.getContext(), BindingKind::State, name),
                       constant.getResult().getType());
  }

  LogicalResult place(Operation &op, function_ref<FailureOr<int64_t>(Operation *)> workspaceOf) {
    if (auto view = dyn_cast<sched::ViewOp>(op)) {
      bufferOf[view.getResult()] = bufferOf.lookup(view.getInput());
      return success();
    }
    if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
      bufferOf[constant.getResult()] = constantBuffer(constant);
      return success();
    }
    if (auto gradient = dyn_cast<train::FinalGradientOp>(op)) {
      markGradient(gradient);
      return success();
    }
    if (!sched::isLaunch(op))
      return op.emitOpError("is not scheduled: run kedge-form-clusters first");
    return placeLaunch(op, workspaceOf);
  }

  void markGradient(train::FinalGradientOp gradient) {
    Value root = sched::rootOf(gradient.getGradient());
    int64_t after = root.getDefiningOp() ? position.lookup(root.getDefiningOp()) : -1;
    plan.gradients.push_back(
        {gradient.getParameter().str(), bufferOf.lookup(root), after, gradient.getGradient().getType()});
  }

  LogicalResult placeLaunch(Operation &op, function_ref<FailureOr<int64_t>(Operation *)> workspaceOf) {
    int64_t at = position.lookup(&op);
    PlannedLaunch launch;
    launch.op = &op;
    for (Value operand : op.getOperands())
      launch.reads.push_back(bufferOf.lookup(operand));
    llvm::DenseSet<size_t> taken;
    for (OpResult result : op.getResults())
      launch.writes.push_back(resultBuffer(result, at, taken));
    FailureOr<int64_t> bytes = workspaceOf(&op);
    if (failed(bytes))
      return failure();
    if (*bytes > 0)
      launch.workspace =
          addBuffer({"workspace", RankedTensorType::get({*bytes}, IntegerType::get(op.getContext(), 8)),
                     *bytes, at, at});
    plan.launches.push_back(std::move(launch));
    return success();
  }

  /// A bound place, an input's bytes when the input dies here, or a new buffer.
  size_t resultBuffer(OpResult result, int64_t at, llvm::DenseSet<size_t> &taken) {
    if (auto found = bufferOf.find(result); found != bufferOf.end())
      return found->second;
    int64_t last = std::max(at, lastUse(result));
    for (Value operand : result.getOwner()->getOperands()) {
      size_t candidate = bufferOf.lookup(operand);
      PlannedBuffer &buffer = plan.buffers[candidate];
      // Those of another size never fit: asked first, since the last question looks through all operands.
      if (deathOf(candidate) != at || buffer.bytes != sched::bytesOf(result.getType()) ||
          buffer.persistent() || buffer.holdsOutput() || taken.contains(candidate) ||
          !sched::mayOverwrite(result, sched::rootOf(operand)))
        continue;
      taken.insert(candidate);
      extend(candidate, last);
      ++plan.reusedInPlace;
      return bufferOf[result] = candidate;
    }
    PlannedBuffer buffer{nameOf(result), result.getType(), sched::bytesOf(result.getType()), at, last};
    buffer.host = isa<sched::OffloadOp>(result.getOwner());
    return bufferOf[result] = addBuffer(buffer);
  }

  int64_t deathOf(size_t buffer) { return plan.buffers[buffer].last; }
  void extend(size_t buffer, int64_t last) {
    plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, last);
  }

  /// A gradient that is marked stays readable through the launch that makes it.
  void closeLifetimes() {
    for (PlannedBuffer &buffer : plan.buffers)
      buffer.last = std::max(buffer.last, buffer.first);
  }

  FunctionPlan plan;
  ConstantTable &constants;
  llvm::DenseMap<Attribute, size_t> states; ///< buffers by their bindings
  llvm::DenseSet<StringAttr> onHost;
  DenseMap<Operation *, int64_t> position;
  DenseMap<Value, size_t> bufferOf;
  int64_t end = 0;
};

} // namespace

bool PlannedBuffer::persistent() const {
  return binding && (binding.is(BindingKind::State) || binding.is(BindingKind::Scalar) ||
                     binding.is(BindingKind::Result));
}

FailureOr<FunctionPlan> planFunction(func::FuncOp function, ConstantTable &constants,
                                     function_ref<FailureOr<int64_t>(Operation *)> workspaceOf) {
  return Planner(function, constants).run(workspaceOf);
}

} // namespace kedge::memory
