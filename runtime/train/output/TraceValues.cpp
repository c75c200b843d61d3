#include "runtime/train/output/TraceValues.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Error.h"
#include <filesystem>

namespace kedge::rt {

TraceValues::TraceValues(Executor &executor, const Options &options) : executor(executor), options(options) {
  if (!needed())
    return;
  const World world = executor.communicator() ? executor.communicator()->world() : World();
  path = world.size > 1 ? options.traceValues + ".rank-" + std::to_string(world.rank) : options.traceValues;
  file.open(std::filesystem::path(std::u8string(path.begin(), path.end())),
            std::ios::binary | std::ios::trunc);
  if (!file)
    fail("{}: cannot be written", path);
  writeRecord({{"kind", "run"}, {"mesh", executor.program().mesh.text()}, {"bytes", 0}}, nullptr, 0);
  for (const State &state : executor.program().states) {
    states.insert({state.space, state.offset});
    holders[{state.space, state.offset}] = "state " + (state.onnxName.empty() ? state.name : state.onnxName);
  }
}

void TraceValues::writeRecord(const nlohmann::json &record, const char *bytes, size_t count) {
  file << record.dump() << '\n';
  file.write(bytes, static_cast<std::streamsize>(count));
  if (!file)
    fail("{}: cannot be written; are the disk's bytes used up?", path);
}

/// Of a state that is a part of a tensor: the tensor's shape, and which of its elements these are.
static void addView(nlohmann::json &record, const State &state) {
  if (!state.view)
    return;
  record["whole"] = state.view->whole;
  record["runs"] = nlohmann::json::array();
  state.view->forEachRun(
      [&](const ElementRun &run) { record["runs"].push_back({run.whole, run.here, run.count}); });
}

void TraceValues::writeStates(int64_t completedSteps) {
  if (!needed())
    return;
  for (const State &state : executor.program().states) {
    const size_t bytes = state.desc.bytes();
    nlohmann::json record = {{"kind", "state"},
                             {"step", completedSteps},
                             {"name", state.name},
                             {"read_as", state.onnxName.empty() ? state.name : state.onnxName},
                             {"dtype", dtypeName(state.desc.type)},
                             {"shape", state.desc.shape},
                             {"bytes", bytes}};
    addView(record, state);
    writeRecord(record, executor.read(state), bytes);
  }
  file.flush();
}

std::string TraceValues::sourceOf(const Holder &holder) const {
  const auto found = holders.find(holder);
  return found == holders.end() ? "" : found->second;
}

void TraceValues::visit(const Function &function, int launch, int64_t ofStep, double) {
  if (ofStep != step)
    run = 0;
  step = ofStep;
  if (launch >= 0)
    return writeOutputs(function, launch);
  ++run;
  for (const ArenaSlot &input : function.inputs) {
    holders[{Space::Device, input.offset}] = "input " + input.name;
    writeInput(function, input);
  }
}

void TraceValues::writeInput(const Function &function, const ArenaSlot &input) {
  const InputSpec *spec = executor.program().input(input.name);
  if (!spec)
    return; // a scalar
  writeRecord({{"kind", "input"},
               {"step", step},
               {"run", run},
               {"function", function.name},
               {"name", input.name},
               {"dtype", dtypeName(spec->desc.type)},
               {"shape", spec->desc.shape},
               {"bytes", spec->desc.bytes()}},
              executor.read(input.offset, spec->desc.bytes()), spec->desc.bytes());
}

void TraceValues::writeOutputs(const Function &function, int at) {
  const Launch &launch = function.launches[static_cast<size_t>(at)];
  const auto holderOf = [&](size_t argument) {
    return std::pair(launch.hostArg == static_cast<int>(argument) ? Space::Host : Space::Device,
                     launch.args[argument]);
  };
  nlohmann::json reads = nlohmann::json::array();
  for (size_t k = 0; k < launch.reads; ++k)
    reads.push_back(sourceOf(holderOf(k)));
  const std::string &op = launch.library.empty() ? launch.kernel : launch.library;
  for (size_t output = 0; output < launch.outputs.size(); ++output) {
    const TensorDesc &desc = launch.outputs[output];
    const auto [space, offset] = holderOf(launch.reads + output);
    writeRecord({{"kind", "value"},
                 {"step", step},
                 {"run", run},
                 {"function", function.name},
                 {"launch", at},
                 {"output", output},
                 {"op", op},
                 {"place", launch.loc},
                 {"backward", launch.backward},
                 {"dtype", dtypeName(desc.type)},
                 {"shape", desc.shape},
                 {"reads", reads},
                 {"into_state", states.count({space, offset}) != 0},
                 {"value", output < launch.values.size() ? launch.values[output] : nlohmann::json::object()},
                 {"bytes", desc.bytes()}},
                executor.read(space, offset, desc.bytes()), desc.bytes());
  }
  for (size_t output = 0; output < launch.outputs.size(); ++output)
    holders[holderOf(launch.reads + output)] =
        "launch " + std::to_string(at) + " (" + op + (launch.loc.empty() ? "" : " at " + launch.loc) + ")";
}

} // namespace kedge::rt
