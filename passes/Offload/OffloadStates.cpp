#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Analysis/MovedStates.h"
#include "lib/Analysis/PersistentRegion.h"
#include "passes/Offload/Passes.h"

namespace kedge::offload {
#define GEN_PASS_DEF_OFFLOADSTATES
#include "passes/Offload/Passes.h.inc"

namespace {
using namespace mlir;

/// A fetched state stays for readers at most this many launches apart: the layer's next product, its update.
constexpr int64_t reach = 4;

class FunctionRewriter {
public:
  FunctionRewriter(func::FuncOp function, const DenseSet<StringAttr> &onHost,
                   const DenseSet<StringAttr> &onDisk)
      : function(function), onHost(onHost), onDisk(onDisk) {
    int64_t next = 0;
    for (Operation &op : function.getBody().front())
      position[&op] = sched::isLaunch(op) ? next++ : next;
  }

  void run() {
    for (BlockArgument argument : function.getArguments())
      if (livesOnHost(train::stateOfArgument(function, argument.getArgNumber())))
        fetch(argument);
    for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
      if (livesOnHost(train::stateOfResult(function, operand.getOperandNumber())))
        offload(operand);
  }

  int64_t fetches = 0, offloads = 0;

private:
  bool livesOnHost(FlatSymbolRefAttr state) const { return state && onHost.contains(state.getAttr()); }

  /// Launches that read `value`, directly or through views, with the value that each reads.
  void readersOf(Value value, SmallVectorImpl<std::pair<Operation *, Value>> &readers) {
    for (Operation *user : value.getUsers()) {
      if (auto view = dyn_cast<sched::ViewOp>(user))
        readersOf(view.getResult(), readers);
      else if (sched::isLaunch(*user) && !llvm::is_contained(readers, std::pair(user, value)))
        readers.push_back({user, value});
    }
  }

  void fetch(BlockArgument state) {
    SmallVector<std::pair<Operation *, Value>> readers;
    readersOf(state, readers);
    llvm::stable_sort(readers, [&](auto &a, auto &b) { return position[a.first] < position[b.first]; });
    Value fetched;
    int64_t last = 0;
    for (auto [reader, value] : readers) {
      if (!fetched || position[reader] - last > reach) {
        OpBuilder builder(reader);
        fetched = sched::FetchOp::create(builder, nameOf(state), state.getType(), state, IntegerAttr(),
                                         StringAttr(), StringAttr(), isOnDisk(symbolOf(state)));
        setPlace(fetched.getDefiningOp(), transferOf(state));
        views.clear();
        ++fetches;
      }
      last = position[reader];
      Value instead = viewAs(value, fetched, reader);
      reader->replaceUsesOfWith(value, instead);
    }
  }

  /// `fetched` under the shape that `value` gave the state.
  Value viewAs(Value value, Value fetched, Operation *reader) {
    auto view = value.getDefiningOp<sched::ViewOp>();
    if (!view)
      return fetched;
    Value &known = views[value];
    if (!known) {
      OpBuilder builder(reader);
      builder.setInsertionPointAfterValue(fetched);
      known = sched::ViewOp::create(builder, view.getLoc(), view.getResult().getType(), fetched);
      setPlace(known.getDefiningOp(), placeOf(view));
    }
    return known;
  }

  /// A state that is returned as it came in stays where it is.
  void offload(OpOperand &returned) {
    Value value = returned.get(), root = sched::rootOf(value);
    if (auto argument = dyn_cast<BlockArgument>(root);
        argument && livesOnHost(train::stateOfArgument(function, argument.getArgNumber())))
      return;
    OpBuilder builder(returned.getOwner());
    builder.setInsertionPointAfterValue(value);
    FlatSymbolRefAttr written = train::stateOfResult(function, returned.getOperandNumber());
    auto copy = sched::OffloadOp::create(builder, value.getLoc(), value.getType(), value, StringAttr(),
                                         isOnDisk(written.getAttr()));
    auto argument = dyn_cast<BlockArgument>(root);
    setPlace(copy, argument ? transferOf(argument) : placeOfProducer(root));
    returned.set(copy.getResult());
    ++offloads;
  }

  UnitAttr isOnDisk(StringAttr state) {
    return onDisk.contains(state) ? UnitAttr::get(function.getContext()) : UnitAttr();
  }

  StringAttr symbolOf(BlockArgument state) {
    auto symbol = train::stateOfArgument(function, state.getArgNumber());
    return symbol ? symbol.getAttr() : StringAttr::get(function.getContext(), "returned");
  }

  Location nameOf(BlockArgument state) { return NameLoc::get(symbolOf(state)); }

  PlaceAttr transferOf(BlockArgument state) {
    return PlaceAttr::get(function.getContext(), TrainingPhase::Transfer, "", symbolOf(state));
  }

  func::FuncOp function;
  const DenseSet<StringAttr> &onHost, &onDisk;
  DenseMap<Operation *, int64_t> position;
  DenseMap<Value, Value> views; ///< of the state, by that of the latest fetched copy
};

struct OffloadStates : impl::OffloadStatesBase<OffloadStates> {
  using Base::Base;

  void run() override {
    for (const Offload &offload : states)
      if (offload.kind == OffloadKind::Activations) {
        getOperation().emitError("activations are no states: expected optimizer, gradients or params");
        return signalPassFailure();
      }
    int64_t moved = 0;
    DenseSet<StringAttr> onDisk;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto target = analysis::offloadTarget(states, state)) {
        sched::HostNote(&getContext()).setAttr(state, UnitAttr::get(&getContext()));
        ++moved;
        if (!target->directory.empty()) {
          sched::DiskNote(&getContext()).setAttr(state, StringAttr::get(&getContext(), target->directory));
          onDisk.insert(state.getSymNameAttr());
        }
      }
    DenseSet<StringAttr> onHost = analysis::hostStates(getOperation());
    int64_t fetches = 0, offloads = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      FunctionRewriter rewriter(function, onHost, onDisk);
      rewriter.run();
      fetches += rewriter.fetches;
      offloads += rewriter.offloads;
    }
    addStatistic("states offloaded", moved);
    addStatistic("states in files", static_cast<int64_t>(onDisk.size()));
    addStatistic("fetches", fetches);
    addStatistic("offloads", offloads);
  }
};
} // namespace
} // namespace kedge::offload
