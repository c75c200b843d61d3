#include "passes/Pipeline/StageParts.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Support/StorageBytes.h"

using namespace mlir;

namespace kedge::pipeline {
namespace {

/// Less than any real time: slots without work have an order, too.
constexpr double kLeastSeconds = 1e-9;

} // namespace

StageParts::StageParts(func::FuncOp micro, int64_t ranks, std::vector<bool> apart)
    : micro(micro), ranks(ranks), weightsApart(std::move(apart)) {
  noteBackward();
  if (llvm::is_contained(weightsApart, true))
    noteWeights();
  for (Operation &op : micro.getBody().front().without_terminator())
    if (stageOf(&op) >= 0)
      ops[{stageOf(&op), partOf(&op)}].push_back(&op);
}

ArrayRef<Operation *> StageParts::opsOf(int64_t stage, Part part) const {
  auto found = ops.find({stage, part});
  return found == ops.end() ? ArrayRef<Operation *>() : ArrayRef(found->second);
}

int64_t StageParts::stageOf(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(dist::pipelineStageName);
  return stage ? stage.getInt() : -1;
}

Part StageParts::partOf(Operation *op) const {
  auto found = parts.find(op);
  return found == parts.end() ? Part::Forward : found->second;
}

void StageParts::noteBackward() {
  for (Operation &op : micro.getBody().front().without_terminator()) {
    PlaceAttr place = placeOf(&op);
    const bool reads = llvm::any_of(op.getOperands(), [&](Value value) {
      return value.getDefiningOp() && parts.contains(value.getDefiningOp());
    });
    if (stageOf(&op) >= 0 && (reads || !place || place.getPhase() != TrainingPhase::Forward))
      parts[&op] = Part::Backward;
  }
}

/// An op on another rank waits for it.
bool StageParts::isAwaited(Operation *op) const {
  return llvm::any_of(op->getUsers(),
                      [&](Operation *user) { return stageOf(user) >= 0 && rankOf(user) != rankOf(op); });
}

/// From the last op to the first: what it goes into is known.
void StageParts::noteWeights() {
  struct Sinks {
    bool others = false; ///< more than one state, or an op that others wait for
    Attribute state;
  };
  DenseMap<Operation *, Sinks> sinks;
  Operation *end = micro.getBody().front().getTerminator();
  for (Operation &op : llvm::reverse(micro.getBody().front().without_terminator())) {
    if (!parts.contains(&op))
      continue;
    Sinks found{isAwaited(&op), {}};
    const auto add = [&](bool others, Attribute state) {
      found.others |= others || (state && found.state && state != found.state);
      found.state = state ? state : found.state;
    };
    for (OpOperand &use : op.getUses())
      if (use.getOwner() == end) {
        auto state = train::stateOfResult(micro, use.getOperandNumber());
        add(!state, state ? Attribute(state.getAttr()) : Attribute());
      } else if (auto user = sinks.find(use.getOwner()); user != sinks.end()) {
        const Sinks goesInto = user->second; // the map may move
        add(goesInto.others, goesInto.state);
      } else {
        add(true, {});
      }
    if (!found.others && weightsApart[static_cast<size_t>(rankOf(&op))])
      parts[&op] = Part::Weights;
    sinks[&op] = found;
  }
}

std::vector<StageWork> StageParts::workOf(int64_t stages, analysis::OpSeconds &seconds) {
  std::vector<StageWork> work(static_cast<size_t>(stages),
                              {kLeastSeconds, kLeastSeconds, kLeastSeconds, 0, 0, 0});
  for (BlockArgument argument : micro.getArguments())
    if (train::bindingOfArgument(micro, argument.getArgNumber(), train::BindingKind::Input))
      addHeld(argument, work);
  for (Operation &op : micro.getBody().front().without_terminator()) {
    if (stageOf(&op) < 0)
      continue;
    StageWork &stage = work[static_cast<size_t>(stageOf(&op))];
    const Part part = partOf(&op);
    (part == Part::Forward    ? stage.forward
     : part == Part::Backward ? stage.backward
                              : stage.weights) += seconds.of(&op);
    for (Value result : op.getResults())
      addHeld(result, work);
  }
  return work;
}

/// On each stage that reads a value later than it is there.
void StageParts::addHeld(Value value, std::vector<StageWork> &work) const {
  Operation *producer = value.getDefiningOp();
  SmallVector<bool> backward(work.size(), false), weights(work.size(), false);
  for (Operation *user : value.getUsers())
    if (const int64_t stage = stageOf(user); stage >= 0) {
      backward[static_cast<size_t>(stage)] |= partOf(user) != Part::Forward;
      weights[static_cast<size_t>(stage)] |= partOf(user) == Part::Weights;
    }
  const Part made = producer ? partOf(producer) : Part::Forward;
  const auto bytes = static_cast<double>(kedge::bytesOf(value.getType()));
  for (auto [index, stage] : llvm::enumerate(work)) {
    if (made == Part::Forward && backward[index])
      stage.held += bytes;
    if (made != Part::Weights && weights[index])
      (made == Part::Forward ? stage.heldForWeights : stage.madeForWeights) += bytes;
  }
}

} // namespace kedge::pipeline
