#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/OpSeconds.h"
#include "passes/Pipeline/Balance.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/SplitByStage.h"
#include "runtime/io/NamePattern.h"

namespace kedge::pipeline {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "passes/Pipeline/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

struct AssignStages : impl::AssignStagesBase<AssignStages> {
  using Base::Base;
  int64_t count = 1;
  DenseMap<Operation *, int64_t> stageOfOp;
  DenseMap<StringAttr, int64_t> stageOfState;
  llvm::StringMap<int64_t> stageOfPlace; ///< of the first forward op there
  llvm::StringMap<int64_t> lastOfPlace;
  DenseSet<Operation *> late;             ///< of @micro: backward, and what follows from it
  DenseMap<Attribute, int64_t> annotated; ///< stages of nodes by place, as the file says
  DenseSet<Value> everywhere;             ///< made of constants and numbers of the host
  DenseSet<Value> foundByAll;             ///< made on one stage, and sent to all
  DenseSet<Value> ofStates;               ///< made of states, and of what is everywhere

  void run() override {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::meshName);
    count = (mesh ? std::max<int64_t>(1, mesh.sizeOf(dist::pipelineAxis)) : 1) * chunks;
    auto micro = train::functionOf(getOperation(), train::FunctionKind::Micro);
    if (!micro) {
      getOperation().emitError("has no @micro to cut into stages: a pipeline needs micro-batches");
      return signalPassFailure();
    }
    readAnnotations();
    if (failed(checkStages()) || failed(placeForward(micro)))
      return signalPassFailure();
    placeStates(micro);
    placeBackward(micro);
    if (failed(verifyMicro(micro)))
      return signalPassFailure();
    if (auto update = train::functionOf(getOperation(), train::FunctionKind::Update))
      placeUpdate(update);
    for (train::FunctionKind kind : {train::FunctionKind::Eval, train::FunctionKind::Predict})
      if (auto function = train::functionOf(getOperation(), kind))
        placeEvaluation(function);
    Builder builder(&getContext());
    for (auto [op, stage] : stageOfOp)
      op->setAttr(dist::pipelineStageName, builder.getI64IntegerAttr(stage));
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto found = stageOfState.find(state.getSymNameAttr()); found != stageOfState.end())
        state->setAttr(dist::pipelineStageName, builder.getI64IntegerAttr(found->second));
    addStatistic("stages", count);
    addStatistic("ops", static_cast<int64_t>(stageOfOp.size()));
  }

  void readAnnotations() {
    if (auto list = getOperation()->getAttrOfType<ArrayAttr>(dist::annotationsName))
      for (auto node : list.getAsRange<dist::AnnotationAttr>())
        if (node.getStage() >= 0)
          annotated.try_emplace(node.getPlace(), node.getStage());
  }

  LogicalResult checkStages() {
    for (const StageRule &rule : stages)
      if (rule.stage >= count)
        return getOperation().emitError()
               << "stage '" << rule.text() << "': expected REGEX=K with a stage K from 0 to " << count - 1;
    return success();
  }

  std::optional<int64_t> givenFor(Operation &op) const {
    PlaceAttr place = placeOf(&op);
    for (const StageRule &rule : stages)
      if (place && rule.names.isIn(place.getModule().str()))
        return rule.stage;
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
    const bool is = llvm::all_of(op.getOperands(), [&](Value value) {
      return everywhere.contains(value) || foundByAll.contains(value);
    });
    if (is)
      everywhere.insert(op.result_begin(), op.result_end());
    return is;
  }

  bool isOfScaler(FlatSymbolRefAttr state) {
    auto found = getOperation().lookupSymbol<train::StateOp>(state.getAttr());
    return found && found.getRole() == train::Role::Scaler;
  }

  /// Numbers of the host, and the loss scale, of which each rank has a copy.
  void noteScalars(func::FuncOp function, StringRef except = "") {
    for (BlockArgument argument : function.getArguments()) {
      auto binding = train::bindingOfArgument(function, argument.getArgNumber());
      if (binding && binding.is(BindingKind::Scalar) && binding.getName() != except)
        everywhere.insert(argument);
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        (isOfScaler(state) ? everywhere : ofStates).insert(argument);
    }
  }

  /// Of states alone, or the cast of an input, which every stage has: it is where its result is read first.
  bool isOfStates(Operation &op) {
    const bool is = llvm::all_of(op.getOperands(), [&](Value value) {
      return ofStates.contains(value) || everywhere.contains(value);
    });
    if (is)
      ofStates.insert(op.result_begin(), op.result_end());
    return is || (isa<onnx::CastOp>(op) && isInput(op.getOperand(0)));
  }

  static bool isInput(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    return function && train::bindingOfArgument(function, argument.getArgNumber(), BindingKind::Input);
  }

  void notePlace(Operation *op, int64_t stage) {
    if (!placeOf(op))
      return;
    stageOfPlace.try_emplace(keyOf(placeOf(op)), stage);
    int64_t &last = lastOfPlace.try_emplace(keyOf(placeOf(op)), stage).first->second;
    last = std::max(last, stage);
  }

  void placeByReaders(ArrayRef<Operation *> ops) {
    for (Operation *op : llvm::reverse(ops)) {
      int64_t stage = count - 1;
      for (Operation *user : op->getUsers())
        if (auto found = stageOfOp.find(user); found != stageOfOp.end())
          stage = std::min(stage, found->second);
      stageOfOp[op] = stage;
      notePlace(op, stage);
    }
  }

  /// A forward pass by itself: each op is where training has it.
  void placeEvaluation(func::FuncOp function) {
    noteScalars(function);
    SmallVector<Operation *> fromStates;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (isEverywhere(op))
        continue;
      if (isOfStates(op)) {
        fromStates.push_back(&op);
        continue;
      }
      PlaceAttr place = placeOf(&op);
      auto named = place ? stageOfPlace.find(keyOf(place)) : stageOfPlace.end();
      int64_t stage = named != stageOfPlace.end() ? named->second : 0;
      for (Value operand : op.getOperands())
        if (auto found = stageOfOp.find(operand.getDefiningOp()); found != stageOfOp.end())
          stage = std::max(stage, found->second);
      stageOfOp[&op] = stage;
    }
    placeByReaders(fromStates);
  }

  void noteLate(func::FuncOp micro) {
    for (Operation &op : micro.getBody().front().without_terminator())
      if (!isEverywhere(op) && (!isForward(op) || llvm::any_of(op.getOperands(), [&](Value value) {
            return late.contains(value.getDefiningOp());
          })))
        late.insert(&op);
  }

  LogicalResult placeForward(func::FuncOp micro) {
    noteScalars(micro);
    noteLate(micro);
    SmallVector<Operation *> forward, fromStates;
    for (Operation &op : micro.getBody().front().without_terminator())
      if (!isEverywhere(op) && !late.contains(&op)) {
        if (isOfStates(op)) {
          fromStates.push_back(&op);
          continue;
        }
        forward.push_back(&op);
      }
    std::vector<int64_t> equal;
    if (stages.empty() && annotated.empty())
      equal = balanced(rowOf(micro, forward), count, roomOfStage());
    for (auto [index, op] : llvm::enumerate(forward)) {
      int64_t least = 0, own = equal.empty() ? 0 : equal[index];
      Operation *reads = nullptr;
      for (Value operand : op->getOperands())
        if (auto found = stageOfOp.find(operand.getDefiningOp());
            found != stageOfOp.end() && found->second > least) {
          least = found->second;
          reads = operand.getDefiningOp();
        }
      if (auto named = givenFor(*op)) {
        own = *named;
        if (own < least)
          return op->emitOpError("is of stage ")
                 << own << ", but reads a value of stage " << least << " ("
                 << (placeOf(reads) ? placeOf(reads).label() : reads->getName().getStringRef())
                 << "): values go to later stages only; give its module a later stage";
      } else if (!reads && !annotated.empty())
        own = stageOfReaders(*op).value_or(0);
      const int64_t stage = std::max(own, least);
      stageOfOp[op] = stage;
      notePlace(op, stage);
    }
    placeByReaders(fromStates);
    for (int64_t stage = 0; stage < count; ++stage)
      if (llvm::none_of(stageOfOp, [&](auto &entry) { return entry.second == stage; }))
        return micro.emitError() << "stage " << stage << " of " << count
                                 << " has nothing to compute; give fewer stages or other --stage";
    return success();
  }

  /// Balanced, these are equal shares of the predicted time of forward and backward, cut where few bytes
  /// cross.
  Row rowOf(func::FuncOp micro, ArrayRef<Operation *> forward) {
    analysis::OpSeconds seconds(device);
    llvm::StringMap<double> backward; // by place; of the first forward op there
    for (Operation &op : micro.getBody().front().without_terminator())
      if (PlaceAttr place = placeOf(&op); place && !isForward(op))
        backward[keyOf(place)] += seconds.of(&op);
    Row row;
    DenseMap<Operation *, size_t> index;
    for (Operation *op : forward) {
      const std::string key = keyOf(placeOf(op));
      const size_t at = row.seconds.size();
      index[op] = at;
      row.seconds.push_back(seconds.of(op) + backward.lookup(key));
      backward.erase(key);
      row.mayCut.push_back(at > 0 && placeOf(forward[at - 1]) != placeOf(op));
    }
    row.crossing = crossingOf(forward, index);
    if (room > 0) {
      for (Operation *op : forward)
        row.again.push_back(seconds.of(op));
      addBytes(micro, forward, index, row);
    }
    return row;
  }

  /// A rank's stages share what it may take.
  Room roomOfStage() {
    Room own;
    if (room <= 0)
      return own;
    own.bytes = static_cast<double>(room) / static_cast<double>(chunks);
    for (int64_t stage = 0; stage < count; ++stage)
      own.inFlight.push_back(allForwardsFirst ? microBatches
                                              : std::min<int64_t>(microBatches, count - stage));
    return own;
  }

  void addBytes(func::FuncOp micro, ArrayRef<Operation *> forward, const DenseMap<Operation *, size_t> &index,
                Row &row) {
    row.states.assign(forward.size(), 0);
    row.held.assign(forward.size(), 0);
    const DenseMap<StringAttr, size_t> firstReader = placesOfStates(micro, index);
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto found = firstReader.find(state.getSymNameAttr()); found != firstReader.end())
        row.states[found->second] += static_cast<double>(kedge::bytesOf(state.getType()));
    for (auto [at, op] : llvm::enumerate(forward))
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !index.contains(user); }))
          row.held[at] += static_cast<double>(kedge::bytesOf(result.getType()));
  }

  /// Before each op: the bytes that are made before it and read from it on.
  static std::vector<double> crossingOf(ArrayRef<Operation *> forward,
                                        const DenseMap<Operation *, size_t> &index) {
    std::vector<double> change(forward.size() + 1, 0);
    for (auto [made, op] : llvm::enumerate(forward))
      for (Value result : op->getResults()) {
        size_t last = made;
        for (Operation *user : result.getUsers())
          if (auto found = index.find(user); found != index.end())
            last = std::max(last, found->second);
        change[made + 1] += last > made ? static_cast<double>(kedge::bytesOf(result.getType())) : 0;
        change[last + 1] -= last > made ? static_cast<double>(kedge::bytesOf(result.getType())) : 0;
      }
    std::vector<double> crossing;
    double now = 0;
    for (size_t at = 0; at < forward.size(); ++at)
      crossing.push_back(now += change[at]);
    return crossing;
  }

  /// By where ops are: a state is where it is read first; what belongs to a parameter is with it.
  template <typename Place>
  DenseMap<StringAttr, Place> placesOfStates(func::FuncOp micro, const DenseMap<Operation *, Place> &ofOps) {
    DenseMap<StringAttr, Place> places;
    for (BlockArgument argument : micro.getArguments())
      if (auto state = train::stateOfArgument(micro, argument.getArgNumber()))
        for (Operation *user : argument.getUsers())
          if (auto found = ofOps.find(user); found != ofOps.end()) {
            auto [entry, isNew] = places.try_emplace(state.getAttr(), found->second);
            entry->second = std::min(entry->second, found->second);
          }
    for (int pass = 0; pass < 2; ++pass) // a moment is of a parameter that may be of a working copy
      for (auto state : getOperation().getOps<train::StateOp>()) {
        if (!state.getOfAttr())
          continue;
        StringAttr of = state.getOfAttr().getAttr(), own = state.getSymNameAttr();
        if (auto found = places.find(own);
            found != places.end() && state.getRole() == train::Role::WorkingCopy) {
          const Place place = found->second; // the map may move
          places.try_emplace(of, place);
        }
        if (auto found = places.find(of); found != places.end()) {
          const Place place = found->second;
          places[own] = place;
        }
      }
    return places;
  }

  void placeStates(func::FuncOp micro) {
    stageOfState = placesOfStates(micro, stageOfOp);
    for (auto state : getOperation().getOps<train::StateOp>())
      stageOfState.try_emplace(state.getSymNameAttr(), 0);
  }

  int64_t stageOfValue(Value value) const {
    if (Operation *producer = value.getDefiningOp()) {
      auto found = stageOfOp.find(producer);
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
      if (const int64_t own = stageOfValue(operand); own >= 0 && kedge::bytesOf(operand.getType()) > most) {
        stage = own;
        most = kedge::bytesOf(operand.getType());
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
    for (Operation &op : llvm::make_early_inc_range(micro.getBody().front().without_terminator())) {
      if (stageOfOp.contains(&op) || (op.getNumResults() > 0 && everywhere.contains(op.getResult(0))) ||
          isSplit(op))
        continue;
      PlaceAttr place = placeOf(&op);
      auto named = place ? lastOfPlace.find(keyOf(place)) : lastOfPlace.end();
      int64_t stage = named != lastOfPlace.end() ? named->second : count;
      if (auto state = updated.find(&op); state != updated.end())
        stage = stageOfState.lookup(state->second);
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp();
            late.contains(producer) && stageOfOp.contains(producer))
          stage = std::min(stage, stageOfOp.lookup(producer));
      // What no pass has given a place of the model stays where the gradients that it reads are.
      stageOfOp[&op] = stage < count ? stage : stageOfOperands(op);
    }
  }

  /// Values go to later stages in forward, to earlier ones in backward, and a state's new value is made where
  /// it is.
  LogicalResult verifyMicro(func::FuncOp micro) {
    const auto stageOf = [&](Operation *op) {
      return op && stageOfOp.contains(op) ? stageOfOp.lookup(op) : -1;
    };
    const DenseMap<Operation *, StringAttr> updated = newStates(micro);
    for (Operation &op : micro.getBody().front().without_terminator()) {
      const int64_t own = stageOf(&op);
      for (Operation *producer :
           llvm::map_range(op.getOperands(), [](Value v) { return v.getDefiningOp(); })) {
        const int64_t from = stageOf(producer);
        const bool reads = own >= 0 && from >= 0,
                   wrong = late.contains(&op) ? late.contains(producer) && from < own : from > own;
        if (reads && wrong)
          return op.emitOpError("is of stage ")
                 << own << ", but reads a value of stage " << from << " (" << producer->getName()
                 << "), which is made later: a pass that made one of them gave it the place of another "
                    "module";
      }
      if (auto state = updated.find(&op);
          state != updated.end() && own >= 0 && own != stageOfState.lookup(state->second))
        return op.emitOpError("makes the new value of ")
               << state->second << " on stage " << own << ", but stage " << stageOfState.lookup(state->second)
               << " keeps it";
    }
    return success();
  }

  /// Tensors of several stages do not travel together.
  bool isSplit(Operation &op) {
    const bool isLate = late.erase(&op); // the op may be gone afterwards
    SmallVector<std::pair<Operation *, int64_t>> parts =
        splitByStage(&op, [&](Value value) { return std::max<int64_t>(0, stageOfValue(value)); });
    if (parts.empty() && isLate)
      late.insert(&op);
    for (auto [part, stage] : parts) {
      stageOfOp[part] = stage;
      if (isLate)
        late.insert(part);
    }
    return !parts.empty();
  }

  void placeUpdate(func::FuncOp update) {
    noteScalars(update, "item_scale");
    // All ranks know whether a gradient is not finite: each has the loss scale.
    update.walk([&](train::UpdateScaleOp op) { foundByAll.insert(op.getFound()); });
    const DenseMap<Operation *, StringAttr> updated = newStates(update);
    for (Operation &op : llvm::make_early_inc_range(update.getBody().front().without_terminator())) {
      if (isSplit(op))
        continue;
      if (op.getNumResults() > 0 && isEverywhere(op))
        continue;
      auto state = updated.find(&op);
      stageOfOp[&op] = state != updated.end() ? stageOfState.lookup(state->second) : stageOfOperands(op);
    }
  }
};
} // namespace
} // namespace kedge::pipeline
