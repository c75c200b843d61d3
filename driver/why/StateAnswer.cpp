#include "driver/why/StateAnswer.h"
#include "driver/why/Lives.h"
#include "driver/why/Turns.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Support/AttrJson.h"
#include <fmt/ranges.h>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

class StateReport {
public:
  StateReport(const std::string &symbol, Compilation &compilation, const CompileOptions &options)
      : symbol(symbol), compilation(compilation), options(options), module(compilation.module()) {
    for (auto state : module.getOps<train::StateOp>())
      if (state.getSymName() == StringRef(symbol) || state.getOf() == StringRef(symbol))
        states.push_back(state);
  }

  json run() {
    json answer = {{"symbol", symbol}, {"copies", json::array()}};
    for (train::StateOp state : states)
      answer["copies"].push_back(copyOf(state));
    answer["functions"] = json::array();
    for (auto function : module.getOps<exec::FunctionOp>())
      if (function.getKind() && train::runsInStep(*function.getKind(), 1) > 0)
        answer["functions"].push_back(turnsIn(function));
    answer["gradients"] = gradients();
    answer["shard"] = shares();
    if (answer["shard"].empty())
      answer["shard_obstacle"] = whyNoShares();
    answer["offload"] = offload();
    return answer;
  }

private:
  json copyOf(train::StateOp state) {
    json copy = {{"state", state.getSymName().str()},
                 {"role", stringifyRole(state.getRole()).str()},
                 {"type", typeText(state.getType())},
                 {"bytes", bytesOf(state.getType())},
                 {"arena_bytes", analysis::arenaBytes(state, bytesOf(state.getType()))},
                 {"offset", exec::OffsetNote(state.getContext()).getAttr(state).getInt()},
                 {"memory", sched::diskOf(state)     ? "disk"
                            : sched::isOnHost(state) ? "host"
                                                     : "device"}};
    if (auto sharding = state.getSharding(); sharding && !sharding->isHere()) {
      copy["layout"] = "on another stage";
    } else if (sharding && sharding->isFlat()) {
      copy["layout"] = {
          {"whole", std::vector<int64_t>(sharding->getShape().begin(), sharding->getShape().end())},
          {"axis", sharding->getAxis().str()},
          {"parts", sharding->getRanks()}};
    } else {
      const bool isBlock = sharding && state.getType() != state.wholeType();
      copy["layout"] = isBlock ? fmt::format("a block of {}", fmt::join(sharding->getShape(), "x")) : "whole";
    }
    return copy;
  }

  bool isOwn(Value place, train::Role *role = nullptr) const {
    auto bound = place.getDefiningOp<exec::BufferOp>().getState();
    for (train::StateOp state : states)
      if (bound && *bound == state.getSymName()) {
        if (role)
          *role = state.getRole();
        return true;
      }
    return false;
  }

  /// Launches of one function that read, write or gather its copies.
  json turnsIn(exec::FunctionOp function) {
    const std::string name = function.getSymName().str();
    json turns = {
        {"name", name}, {"readers", json::array()}, {"writers", json::array()}, {"gathers", json::array()}};
    for (auto [at, op] : llvm::enumerate(launchesIn(module, name))) {
      auto launch = cast<exec::LaunchInterface>(op);
      auto own = [&](Value place) { return isOwn(place); };
      const bool reads = llvm::any_of(launch.getReads(), own), writes = llvm::any_of(launch.getWrites(), own);
      auto kernel = dyn_cast<exec::LaunchOp>(op);
      const bool gathers = (reads || writes) && kernel && kernel.getCollective();
      json turn = turnJson(op, static_cast<int64_t>(at));
      if (gathers)
        turns["gathers"].push_back(turn);
      else if (writes)
        turns["writers"].push_back(turn);
      else if (reads)
        turns["readers"].push_back(turn);
    }
    return turns;
  }

  json gradients() {
    json list = json::array();
    for (auto function : module.getOps<exec::FunctionOp>())
      for (auto gradient : function.getBody().getOps<exec::GradientOp>())
        if (gradient.getParameter() == StringRef(symbol)) {
          auto buffer = gradient.getBuffer().getDefiningOp<exec::BufferOp>();
          list.push_back({{"function", function.getSymName().str()},
                          {"type", typeText(gradient.getType())},
                          {"bytes", buffer.getSize()},
                          {"complete_after", gradient.getAfter()},
                          {"from", static_cast<int64_t>(buffer.getFirst())},
                          {"to", static_cast<int64_t>(buffer.getLast())},
                          {"persistent", buffer.isPersistent()}});
        }
    return list;
  }

  /// What a rank holds of it at each stage of ZeRO, and what it sends for it in a step: the contract's
  /// formulas.
  json shares() {
    const int64_t ranks = options.model.meshOfRanks().sizeOf(rt::Mesh::kData);
    json stages = json::array();
    if (ranks < 2 || !isParameter())
      return stages;
    for (int64_t stage = 0; stage <= 3; ++stage)
      stages.push_back(stageJson(stage, ranks, master().wholeType().getNumElements()));
    return stages;
  }

  train::StateOp master() const {
    for (train::StateOp state : states)
      if (state.getSymName() == StringRef(symbol))
        return state;
    return {};
  }

  bool isParameter() const { return master() && master().getRole() == train::Role::Parameter; }

  std::string whyNoShares() const {
    if (!isParameter())
      return "no parameter: --zero leaves it whole";
    const rt::Mesh mesh = options.model.meshOfRanks();
    if (mesh.size() == 1)
      return "nothing to shard over: give --ranks N (--zero 1, 2 or 3) to see what a rank would hold";
    return fmt::format("over {} as its layout says; --zero cuts over an axis 'data', which that mesh lacks: "
                       "add data=N to --mesh to see what a rank would hold",
                       mesh.text());
  }

  json stageJson(int64_t stage, int64_t ranks, int64_t elements) {
    const int64_t part = (elements + ranks - 1) / ranks;
    const bool hasCopy = llvm::any_of(
        states, [](train::StateOp state) { return state.getRole() == train::Role::WorkingCopy; });
    int64_t bytes = 0;
    for (train::StateOp state : states) {
      const int64_t size =
          bytesOf(state.wholeType()) / std::max<int64_t>(1, state.wholeType().getNumElements());
      if (state.wholeType().getNumElements() != elements) { // counters, row statistics
        bytes += bytesOf(state.getType());
        continue;
      }
      const bool computes = state.getRole() == train::Role::WorkingCopy ||
                            (state.getRole() == train::Role::Parameter && !hasCopy);
      const bool isPart = computes                                      ? stage >= 3
                          : state.getRole() == train::Role::Accumulator ? stage >= 2
                                                                        : stage >= 1;
      bytes += size * (isPart ? part : elements);
    }
    const int64_t sent = stage < 2    ? 2 * elements
                         : stage == 2 ? (options.accumulate + 1) * elements
                                      : 3 * options.accumulate * elements;
    return {{"zero", stage},
            {"state_bytes", bytes},
            {"elements_sent_at_most", sent},
            {"chosen", stage == options.partition.stage}};
  }

  /// What each kind of state would free in the arena, and the time of its copies in a step.
  json offload() {
    json list = json::array();
    const analysis::DeviceModel device = analysis::loadDevice(options.deviceName());
    int64_t optimizer = 0;
    for (train::StateOp state : states)
      if (state.getRole() == train::Role::Moment1 || state.getRole() == train::Role::Moment2 ||
          state.getRole() == train::Role::Momentum || state.getRole() == train::Role::Average ||
          state.getRole() == train::Role::Residual)
        optimizer += bytesOf(state.getType());
    if (optimizer > 0)
      list.push_back({{"option", "--offload optimizer"},
                      {"bytes", optimizer},
                      {"seconds", 2 * analysis::secondsOf(analysis::transferCost(optimizer), device)},
                      {"chosen", options.memory.offloads(OffloadKind::Optimizer)}});
    return list;
  }

  std::string symbol;
  Compilation &compilation;
  const CompileOptions &options;
  ModuleOp module;
  std::vector<train::StateOp> states;
};

} // namespace

json stateAnswer(const std::string &symbol, Compilation &compilation, const CompileOptions &options) {
  return StateReport(symbol, compilation, options).run();
}

} // namespace kedge::driver
