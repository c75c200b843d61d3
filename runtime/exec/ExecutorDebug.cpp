// What a run does when something is wrong: finding the first value that is not finite, poisoning dead bytes.
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace kedge::rt {
namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

/// `width`: elements of a row that count, and are counted; 0: all.
std::optional<NonFinite> scan(const TensorDesc &desc, const char *data, const std::string &what,
                              bool nanAlone = false, int64_t width = 0) {
  if (!isFloat(desc.type))
    return std::nullopt;
  const int64_t length = desc.shape.empty() ? 1 : desc.shape.back(),
                rows = length == 0 ? 0 : desc.elements() / length;
  const int64_t counted = width != 0 ? width : length; // between rows lies what nobody has written
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < counted; ++column) {
      const double value = loadAsDouble(desc.type, data, row * length + column);
      if (nanAlone ? std::isnan(value) : !std::isfinite(value))
        return NonFinite{what, -1, row * counted + column, value};
    }
  return std::nullopt;
}

/// Elements of a row of a result that count, which products know: this one, or one behind it that reads the
/// result. 0: all.
int64_t widthOfRows(const Program &program, const Launch &source, size_t output) {
  if (source.attrs.contains("widths"))
    return source.attrs["widths"].at(2).get<int64_t>();
  const uint64_t place = source.args[source.reads + output];
  for (const auto &[name, function] : program.functions) {
    const Launch *first = function.launches.data(), *end = first + function.launches.size();
    if (std::less<>()(&source, first) || !std::less<>()(&source, end))
      continue;
    for (const Launch *reader = &source + 1; reader < end; ++reader)
      for (size_t k = 0; k < 2 && k < reader->reads && reader->attrs.contains("widths"); ++k)
        if (reader->args[k] == place && reader->inputs[k].shape == source.outputs[output].shape)
          return reader->attrs["widths"].at(k).get<int64_t>();
  }
  return 0;
}

/// `from` without the bytes that `taken` covers.
Ranges subtract(Ranges from, const Ranges &taken) {
  for (const auto &[begin, end] : taken) {
    Ranges rest;
    for (const auto &[low, high] : from) {
      if (end <= low || begin >= high) {
        rest.push_back({low, high});
        continue;
      }
      if (low < begin)
        rest.push_back({low, begin});
      if (end < high)
        rest.push_back({end, high});
    }
    from = std::move(rest);
  }
  return from;
}

/// Bytes of buffers that hold a value between launch `after` and the next one.
Ranges live(const Function &function, Space space, int after) {
  Ranges result;
  for (const BufferLife &buffer : function.buffers)
    if (buffer.space == space && buffer.first <= after && buffer.last > after)
      result.push_back({buffer.offset, buffer.offset + buffer.bytes});
  return result;
}

/// Bytes whose last user is launch `at`.
Ranges dying(const Function &function, Space space, int at) {
  Ranges result;
  for (const BufferLife &buffer : function.buffers)
    if (buffer.space == space && buffer.last == at)
      result.push_back({buffer.offset, buffer.offset + buffer.bytes});
  const Launch &source = function.launches[static_cast<size_t>(at)];
  if (space == Space::Device && source.workspaceBytes != 0)
    result.push_back({source.workspaceOffset, source.workspaceOffset + source.workspaceBytes});
  return result;
}

/// For each launch, beginning with the state before the first: the transient bytes of one arena that hold no
/// value from there on.
std::vector<Ranges> deadRanges(const Function &function, Space space, uint64_t persistent, uint64_t bytes) {
  std::vector<Ranges> dead{subtract({{persistent, bytes}}, live(function, space, -1))};
  for (int i = 0; i < static_cast<int>(function.launches.size()); ++i)
    dead.push_back(subtract(dying(function, space, i), live(function, space, i)));
  return dead;
}

/// Up to nine digits.
std::optional<int> shortNumber(const std::string &text) {
  const bool isNumber =
      !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::optional(std::stoi(text)) : std::nullopt;
}

} // namespace

/// Infinities of what does not train may be meant: masks.
std::optional<NonFinite> Executor::nonFiniteBefore(const Function &function) {
  for (const State &state : prog.states)
    if (state.role != StateRole::Constant && state.role != StateRole::Accumulator)
      if (auto found = scan(state.desc, read(state),
                            std::string(roleName(state.role)) + " '" +
                                (state.onnxName.empty() ? state.name : state.onnxName) + "' before the step",
                            state.role == StateRole::Frozen || state.role == StateRole::Buffer))
        return found;
  target->begin(function);
  for (const ArenaSlot &place : function.inputs)
    if (const InputSpec *input = prog.input(place.name))
      if (auto found =
              scan(input->desc, read(place.offset, input->desc.bytes()), "input '" + place.name + "'"))
        return found;
  return std::nullopt;
}

std::optional<NonFinite> Executor::nonFiniteResult(const Launch &source) {
  const Space space = source.hostArg == static_cast<int>(source.reads) ? Space::Host : Space::Device;
  for (size_t k = 0; k < source.outputs.size() && source.reads + k < source.args.size(); ++k)
    if (auto found = scan(
            source.outputs[k], read(space, source.args[source.reads + k], source.outputs[k].bytes()),
            (source.library.empty() ? "the result of " + source.kernel : "the result of " + source.library) +
                (source.loc.empty() ? "" : " at " + source.loc),
            /*nanAlone=*/false, widthOfRows(prog, source, k)))
      return found;
  return std::nullopt;
}

std::optional<NonFinite> Executor::firstNonFinite(const std::string &name, int last) {
  const Function &function = functionNamed(name);
  std::optional<NonFinite> found = nonFiniteBefore(function);
  const int end = std::min(last < 0 ? INT32_MAX : last + 1, static_cast<int>(function.launches.size()));
  for (int i = 0; i < end && (!found || ranks); ++i) {
    target->run(function, i, i + 1, nullptr);
    if (!found && (found = nonFiniteResult(function.launches[static_cast<size_t>(i)])))
      found->launch = i;
  }
  return found;
}

std::optional<NonFinite> Executor::nonFiniteGradient(const Function &function, int launch) const {
  for (const GradientSlot &place : function.gradients) {
    const State *state = prog.state(place.parameter);
    if (!state || place.afterLaunch != launch)
      continue;
    TensorDesc desc{place.type, state->viewOrWhole().whole};
    if (place.shard)
      desc.shape = place.shard->localShape(prog.mesh);
    const std::string &name = state->onnxName.empty() ? state->name : state->onnxName;
    if (auto found =
            scan(desc, read(place.space, place.offset, desc.bytes()), "the gradient of '" + name + "'"))
      return found;
  }
  return std::nullopt;
}

NonFiniteGradients Executor::nonFiniteGradients(const std::string &name) {
  const Function &function = functionNamed(name);
  NonFiniteGradients found;
  target->begin(function);
  for (int i = 0; i < static_cast<int>(function.launches.size()); ++i) {
    const Launch &launch = function.launches[static_cast<size_t>(i)];
    target->run(function, i, i + 1, nullptr);
    if (launch.backward && !found.value && (found.value = nonFiniteResult(launch)))
      found.value->launch = i;
    if (!found.gradient && (found.gradient = nonFiniteGradient(function, i)))
      found.gradient->launch = i;
  }
  return found;
}

void Executor::poisonDeadRanges() {
  poisoning = true;
  for (const auto &[name, function] : prog.functions) {
    dead[&function] = deadRanges(function, Space::Device, prog.persistentBytes, prog.arenaBytes);
    deadHost[&function] = deadRanges(function, Space::Host, prog.hostPersistentBytes, prog.hostArenaBytes);
  }
}

void Executor::stopWhere(const std::string &text) {
  const size_t first = text.find(':'), last = text.rfind(':');
  const std::optional<int> rank = shortNumber(text.substr(0, first)),
                           launch = shortNumber(last == std::string::npos ? "" : text.substr(last + 1));
  if (!rank || !launch || last < first + 2 || text.find(':', first + 1) != last)
    fail("KEDGE_STOP={}: expected RANK:FUNCTION:LAUNCH, as in 1:step:40", text);
  if (*rank != (ranks ? ranks->world().rank : 0))
    return;
  const Function &function = functionNamed(text.substr(first + 1, last - first - 1));
  stopLaunch = *launch;
  if (stopLaunch >= static_cast<int>(function.launches.size()))
    fail("KEDGE_STOP={}: expected a launch of @{} from 0 to {}", text, function.name,
         static_cast<int>(function.launches.size()) - 1);
  stopped = &function;
}

void Executor::poison(const Function &function, int after) {
  const size_t at = static_cast<size_t>(int64_t{after} + 1);
  for (const auto &[begin, end] : dead.find(&function)->second[at])
    target->fill(begin, end - begin, 0xff);
  HostArena *host = target->hostArena();
  if (!host)
    return;
  for (const auto &[begin, end] : deadHost.find(&function)->second[at])
    std::memset(host->at(begin), 0xff, end - begin);
}

} // namespace kedge::rt
