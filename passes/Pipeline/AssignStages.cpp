#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Dialect/Kedge/Place.h"
#include "lib/Dialect/ONNX/CoreOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Sched/BuildCluster.h"
#include "lib/Dialect/Train/Bindings.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Support/Statistics.h"
#include "passes/Pipeline/Passes.h"
#include "runtime/io/NamePattern.h"
#include <cmath>

namespace kedge::pipeline {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "passes/Pipeline/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

/// Multiplications of a product: the root of what its two operands and its result hold. Other ops count the
/// elements of their results.
double workOf(Operation &op) {
  double elements = 0;
  for (Value result : op.getResults())
    elements += static_cast<double>(elementCount(shapeOf(result)));
  if (isClusterable(&op) || op.getNumOperands() < 2)
    return elements;
  for (Value operand : op.getOperands().take_front(2))
    elements *= std::max(1.0, static_cast<double>(elementCount(shapeOf(operand))));
  return std::sqrt(elements);
}

int64_t bytesOf(Value value) {
  return elementCount(shapeOf(value)) * std::max(1u, elementOf(value).getIntOrFloatBitWidth() / 8);
}

struct AssignStages : impl::AssignStagesBase<AssignStages> {
  using Base::Base;
  int64_t count = 1;
  DenseMap<Operation *, int64_t> stageOfOp;
  DenseMap<StringAttr, int64_t> stageOfState;
  llvm::StringMap<int64_t> stageOfPlace;
  std::vector<std::pair<rt::NamePattern, int64_t>> given;
  DenseMap<Attribute, int64_t> annotated; ///< stages of nodes by place, as the file says
  DenseSet<Value> everywhere;             ///< made of constants and numbers of the host

  void runOnOperation() override {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::meshName);
    count = mesh ? std::max<int64_t>(1, mesh.sizeOf(dist::pipelineAxis)) : 1;
    auto micro = train::functionOf(getOperation(), train::FunctionKind::Micro);
    if (!micro) {
      getOperation().emitError("has no @micro to cut into stages: a pipeline needs micro-batches");
      return signalPassFailure();
    }
    readAnnotations();
    if (failed(readStages()) || failed(placeForward(micro)))
      return signalPassFailure();
    placeStates(micro);
    placeBackward(micro);
    if (auto update = train::functionOf(getOperation(), train::FunctionKind::Update))
      placeUpdate(update);
    Builder builder(&getContext());
    for (auto [op, stage] : stageOfOp)
      op->setAttr(dist::pipelineStageName, builder.getI64IntegerAttr(stage));
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto found = stageOfState.find(state.getSymNameAttr()); found != stageOfState.end())
        state->setAttr(dist::pipelineStageName, builder.getI64IntegerAttr(found->second));
    addStatistic("kedge-assign-stages", "stages", count);
    addStatistic("kedge-assign-stages", "ops", static_cast<int64_t>(stageOfOp.size()));
  }

  void readAnnotations() {
    if (auto list = getOperation()->getAttrOfType<ArrayAttr>(dist::annotationsName))
      for (auto node : list.getAsRange<dist::AnnotationAttr>())
        if (node.getStage() >= 0)
          annotated.try_emplace(node.getPlace(), node.getStage());
  }

  LogicalResult readStages() {
    for (const std::string &text : stages) {
      const size_t equals = text.rfind('=');
      int64_t stage = -1;
      if (equals == std::string::npos || StringRef(text).substr(equals + 1).getAsInteger(10, stage) ||
          stage < 0 || stage >= count)
        return getOperation().emitError()
               << "stage '" << text << "': expected REGEX=K with a stage K from 0 to " << count - 1;
      try {
        given.emplace_back(rt::NamePattern(text.substr(0, equals)), stage);
      } catch (const std::regex_error &error) {
        return getOperation().emitError()
               << "stage '" << text << "': not a regular expression: " << error.what();
      }
    }
    return success();
  }

  std::optional<int64_t> givenFor(Operation &op) const {
    PlaceAttr place = placeOf(&op);
    for (const auto &[pattern, stage] : given)
      if (place && pattern.isIn(place.getModule().str()))
        return stage;
    if (auto own = annotated.find(place); place && own != annotated.end())
      return own->second;
    return std::nullopt;
  }

  /// Of an op that reads no value of another stage: the smallest of what reads it.
  std::optional<int64_t> stageOfReaders(Operation &op) const {
    std::optional<int64_t> least;
    for (Operation *user : op.getUsers()) {
      const bool counts = isForward(*user) && !user->hasTrait<OpTrait::IsTerminator>();
      const std::optional<int64_t> own = !counts           ? std::nullopt
                                         : givenFor(*user) ? givenFor(*user)
                                                           : stageOfReaders(*user);
      if (own && (!least || *own < *least))
        least = own;
    }
    return least;
  }

  static std::string keyOf(PlaceAttr place) { return (place.getModule() + "\n" + place.getNode()).str(); }

  static bool isForward(Operation &op) {
    PlaceAttr place = placeOf(&op);
    return place && place.getPhase() == TrainingPhase::Forward;
  }

  /// Whether each rank computes it for itself.
  bool isEverywhere(Operation &op) {
    const bool is = llvm::all_of(op.getOperands(), [&](Value value) { return everywhere.contains(value); });
    if (is)
      everywhere.insert(op.result_begin(), op.result_end());
    return is;
  }

  void noteScalars(func::FuncOp function, StringRef except = "") {
    for (BlockArgument argument : function.getArguments())
      if (auto scalar = train::bindingOfArgument(function, argument.getArgNumber(), BindingKind::Scalar);
          scalar && scalar.getName() != except)
        everywhere.insert(argument);
  }

  LogicalResult placeForward(func::FuncOp micro) {
    noteScalars(micro);
    double total = 0, done = 0;
    SmallVector<Operation *> forward;
    for (Operation &op : micro.getBody().front().without_terminator())
      if (!isEverywhere(op) && isForward(op)) {
        forward.push_back(&op);
        total += workOf(op);
      }
    for (Operation *op : forward) {
      const double work = workOf(*op);
      int64_t least = 0, own = 0;
      Operation *reads = nullptr;
      for (Value operand : op->getOperands())
        if (auto found = stageOfOp.find(operand.getDefiningOp());
            found != stageOfOp.end() && found->second > least) {
          least = found->second;
          reads = operand.getDefiningOp();
        }
      if (given.empty() && annotated.empty())
        own = std::min(count - 1, static_cast<int64_t>(static_cast<double>(count) * (done + work / 2) /
                                                       std::max(total, 1.0)));
      else if (auto named = givenFor(*op)) {
        own = *named;
        if (own < least)
          return op->emitOpError("is of stage ")
                 << own << ", but reads a value of stage " << least << " ("
                 << (placeOf(reads) ? placeOf(reads).label() : reads->getName().getStringRef())
                 << "): values go to later stages only; give its module a later stage";
      } else if (!reads)
        own = stageOfReaders(*op).value_or(0);
      const int64_t stage = std::max(own, least);
      stageOfOp[op] = stage;
      stageOfPlace.try_emplace(keyOf(placeOf(op)), stage);
      done += work;
    }
    for (int64_t stage = 0; stage < count; ++stage)
      if (llvm::none_of(stageOfOp, [&](auto &entry) { return entry.second == stage; }))
        return micro.emitError() << "stage " << stage << " of " << count
                                 << " has nothing to compute; give fewer stages or other --stage";
    return success();
  }

  /// A state is where it is read first; what belongs to a parameter is with it.
  void placeStates(func::FuncOp micro) {
    for (BlockArgument argument : micro.getArguments())
      if (auto state = train::stateOfArgument(micro, argument.getArgNumber()))
        for (Operation *user : argument.getUsers())
          if (auto found = stageOfOp.find(user); found != stageOfOp.end()) {
            auto [entry, isNew] = stageOfState.try_emplace(state.getAttr(), found->second);
            entry->second = std::min(entry->second, found->second);
          }
    const auto states = llvm::to_vector(getOperation().getOps<train::StateOp>());
    for (int pass = 0; pass < 2; ++pass) // a moment is of a parameter that may be of a working copy
      for (train::StateOp state : states) {
        if (!state.getOfAttr())
          continue;
        StringAttr of = state.getOfAttr().getAttr(), own = state.getSymNameAttr();
        if (auto found = stageOfState.find(own);
            found != stageOfState.end() && state.getRole() == train::Role::WorkingCopy) {
          const int64_t stage = found->second; // the map may move
          stageOfState.try_emplace(of, stage);
        }
        if (auto found = stageOfState.find(of); found != stageOfState.end()) {
          const int64_t stage = found->second;
          stageOfState[own] = stage;
        }
      }
    for (train::StateOp state : states)
      stageOfState.try_emplace(state.getSymNameAttr(), 0);
  }

  int64_t stageOfValue(Value value) const {
    if (Operation *maker = value.getDefiningOp()) {
      auto found = stageOfOp.find(maker);
      return found == stageOfOp.end() ? -1 : found->second;
    }
    auto argument = cast<BlockArgument>(value);
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto state = train::stateOfArgument(function, argument.getArgNumber());
    return state ? stageOfState.lookup(state.getAttr()) : -1;
  }

  /// That of the largest operand.
  int64_t stageOfOperands(Operation &op) const {
    int64_t stage = -1, most = -1;
    for (Value operand : op.getOperands())
      if (const int64_t own = stageOfValue(operand); own >= 0 && bytesOf(operand) > most) {
        stage = own;
        most = bytesOf(operand);
      }
    return std::max<int64_t>(0, stage);
  }

  /// By op: the state that it is the new value of.
  static DenseMap<Operation *, StringAttr> newStates(func::FuncOp function) {
    DenseMap<Operation *, StringAttr> found;
    for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
      if (auto state = train::stateOfResult(function, result.getOperandNumber());
          state && result.get().getDefiningOp())
        found[result.get().getDefiningOp()] = state.getAttr();
    return found;
  }

  void placeBackward(func::FuncOp micro) {
    const DenseMap<Operation *, StringAttr> updated = newStates(micro);
    for (Operation &op : micro.getBody().front().without_terminator()) {
      if (stageOfOp.contains(&op) || (op.getNumResults() > 0 && everywhere.contains(op.getResult(0))))
        continue;
      PlaceAttr place = placeOf(&op);
      auto named = place ? stageOfPlace.find(keyOf(place)) : stageOfPlace.end();
      int64_t stage = named != stageOfPlace.end() ? named->second : stageOfOperands(op);
      if (auto state = updated.find(&op); state != updated.end())
        stage = stageOfState.lookup(state->second);
      for (Value operand : op.getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && !isForward(*maker) && stageOfOp.contains(maker))
          stage = std::min(stage, stageOfOp.lookup(maker));
      stageOfOp[&op] = stage;
    }
  }

  void placeUpdate(func::FuncOp update) {
    noteScalars(update, "item_scale");
    const DenseMap<Operation *, StringAttr> updated = newStates(update);
    for (Operation &op : update.getBody().front().without_terminator()) {
      if (op.getNumResults() > 0 && isEverywhere(op))
        continue;
      auto state = updated.find(&op);
      stageOfOp[&op] = state != updated.end() ? stageOfState.lookup(state->second) : stageOfOperands(op);
    }
  }
};
} // namespace
} // namespace kedge::pipeline
