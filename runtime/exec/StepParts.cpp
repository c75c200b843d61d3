#include "runtime/exec/StepParts.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <set>

namespace kedge::rt {
namespace {

/// States that no optimizer changes.
bool isOfModel(const State &state) {
  return state.role == StateRole::Buffer || state.role == StateRole::Accumulator;
}

bool holds(const State &state, uint64_t offset) {
  return offset >= state.offset && offset < state.offset + state.desc.bytes();
}

/// Follows values through a function, launch by launch: which of them are there without rows.
class RowsWalk {
public:
  RowsWalk(const Program &program, const Function &function) : function(function) {
    for (const BufferLife &life : function.buffers)
      values.push_back({&life});
    if (const ResultSlot *items = program.result(function.name, "items"))
      given.insert(items->offset);
    takeGradients(-1);
  }

  /// Whether the launch reads what comes from rows; what it writes comes from them then, too.
  bool readsRows(int at) {
    const Launch &launch = function.launches[static_cast<size_t>(at)];
    bool found = false;
    for (size_t i = 0; i < launch.reads; ++i)
      found |= !isThere(launch.args[i], at);
    for (size_t i = launch.reads; i < launch.args.size(); ++i)
      write(launch.args[i], at, !found);
    takeGradients(at);
    return found;
  }

private:
  struct Value {
    const BufferLife *life;
    bool there = false, written = false;
  };

  /// What lies at a place while a launch reads it, or begins there with the launch. Null: it stays between
  /// functions.
  Value *valueAt(uint64_t offset, int at, bool begins) {
    Value *found = nullptr;
    for (Value &value : values) {
      const BufferLife &life = *value.life;
      if (offset < life.offset || offset >= life.offset + life.bytes || life.last < at || life.first > at)
        continue;
      if ((life.first == at) == begins)
        return &value;
      found = begins ? &value : found; // written in parts, by several launches
    }
    return found;
  }

  bool isThere(uint64_t offset, int at) {
    const Value *value = valueAt(offset, at, /*begins=*/false);
    return value ? value->there : changedByRows.count(offset) == 0;
  }

  void write(uint64_t offset, int at, bool there) {
    if (Value *value = valueAt(offset, at, /*begins=*/true)) {
      value->there = there && (value->there || !value->written);
      value->written = true;
    } else if (!there && given.count(offset) == 0) {
      changedByRows.insert(offset);
    }
  }

  void takeGradients(int after) {
    for (const GradientSlot &place : function.gradients)
      if (place.afterLaunch == after)
        for (Value &value : values) {
          const BufferLife &life = *value.life;
          if (place.offset >= life.offset && place.offset < life.offset + life.bytes && life.first <= after &&
              life.last >= after)
            value.there = value.written = true;
        }
  }

  const Function &function;
  std::vector<Value> values;
  std::set<uint64_t> given, changedByRows; ///< places that stay between functions
};

} // namespace

StepParts::StepParts(const Program &program) {
  whole = program.function("step") ? program.function("step") : program.function("update");
  if (program.options.trainingInfo || !whole || whole->gradients.empty())
    fail("the model contains its own update: its gradients are no part of a step that could be given");
  if (program.target.kind != "cpu" || program.hostArenaBytes != 0)
    fail("gradients that are computed or applied alone are not available yet for {}",
         program.target.kind != "cpu" ? "programs for a GPU" : "programs compiled with --offload");
  findUpdates(program);
  findRows(program);
  checkUpdates();
}

bool StepParts::hasGradient(const std::string &state) const {
  return std::any_of(whole->gradients.begin(), whole->gradients.end(),
                     [&](const GradientSlot &place) { return place.parameter == state; });
}

void StepParts::findUpdates(const Program &program) {
  for (const Launch &launch : whole->launches) {
    bool found = false;
    for (size_t i = launch.reads; i < launch.args.size(); ++i)
      found |= std::any_of(program.states.begin(), program.states.end(), [&](const State &state) {
        return !isOfModel(state) && holds(state, launch.args[i]);
      });
    writesState.push_back(found);
  }
}

void StepParts::findRows(const Program &program) {
  RowsWalk walk(program, *whole);
  for (int at = 0; at < static_cast<int>(whole->launches.size()); ++at)
    ofRows.push_back(walk.readsRows(at));
}

/// An update that reads more of the step than its gradients cannot run by itself.
void StepParts::checkUpdates() const {
  for (size_t at = 0; at < whole->launches.size(); ++at)
    if (writesState[at] && ofRows[at])
      fail("gradients cannot be computed or applied alone: the update at {} reads more of the step than "
           "gradients, which is not available yet",
           whole->launches[at].loc);
}

} // namespace kedge::rt
