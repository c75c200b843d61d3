#include "runtime/train/FiniteStates.h"
#include "runtime/format/Convert.h"
#include "runtime/train/weights/StateValues.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr int64_t kFiniteSlice = 4096;

/// Exponents of all ones, in as many bits as `Bits` has.
template <typename Bits> bool anyNotFinite(const char *data, int64_t count, Bits exponent) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
    found |= (bits & exponent) == exponent;
  }
  return found;
}

bool anyNotFinite(DType type, const char *data, int64_t count) {
  switch (type) {
  case DType::F32:
    return anyNotFinite<uint32_t>(data, count, 0x7f800000u);
  case DType::F64:
    return anyNotFinite<uint64_t>(data, count, 0x7ff0000000000000u);
  case DType::F16:
    return anyNotFinite<uint16_t>(data, count, 0x7c00u);
  case DType::BF16:
    return anyNotFinite<uint16_t>(data, count, 0x7f80u);
  default:
    return false;
  }
}

/// The first element that is not finite; -1: none.
int64_t firstNotFinite(DType type, const char *data, int64_t count) {
  const size_t size = dtypeSize(type);
  for (int64_t begin = 0; begin < count; begin += kFiniteSlice) {
    const int64_t end = std::min(count, begin + kFiniteSlice);
    if (!anyNotFinite(type, data + static_cast<size_t>(begin) * size, end - begin))
      continue;
    for (int64_t i = begin; i < end; ++i)
      if (!std::isfinite(loadAsDouble(type, data, i)))
        return i;
  }
  return -1;
}

bool holdsTrained(const State &state) { return isFloat(state.desc.type) && keptOf(state) == Kept::Values; }

/// Nullopt: all are finite. `order`: which of the messages of several states is the first.
std::optional<Word> faultOf(const State &state, DType type, const char *data, int64_t order) {
  const int64_t at = firstNotFinite(type, data, state.desc.elements());
  if (at < 0)
    return std::nullopt;
  return Word{order, fmt::format("{} '{}' is not finite ({} at element {})", roleName(state.role),
                                 state.onnxName.empty() ? state.name : state.onnxName,
                                 loadAsDouble(type, data, at), at)};
}

std::optional<Word> firstFault(const Executor &executor) {
  const WrittenPlaces written(executor.program());
  int64_t order = 0;
  for (const State &state : executor.program().states) {
    ++order;
    if (!holdsTrained(state) || !written.hold(state))
      continue;
    if (std::optional<Word> fault = faultOf(state, state.desc.type, executor.read(state), order))
      return fault;
  }
  return std::nullopt;
}

} // namespace

std::string epsilonHelp(const RunScalars &scalars, const Program &program) {
  const std::string &optimizer = program.options.optimizer;
  const bool divides = optimizer != "sgd" && optimizer != "lion";
  return divides && scalars.eps == 0
             ? "; with --eps 0 the update of a weight that has had no gradient is 0 / 0: give "
               "one above 0, such as --eps 1e-8"
             : "";
}

void checkStatesFinite(const Executor &executor, int64_t step, const std::string &consequence) {
  failWithAgreedError(
      executor.communicator(), fmt::format("after step {} the ", step), firstFault(executor),
      fmt::format(
          ": {}; a lower --lr, a longer --warmup or --clip-norm may help, and --resume goes on from the "
          "last checkpoint",
          consequence));
}

WrittenPlaces::WrittenPlaces(const Program &program) {
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      for (size_t i = launch.reads; i < launch.args.size(); ++i)
        places[static_cast<int>(i) == launch.hostArg].push_back(launch.args[i]);
  for (std::vector<uint64_t> &offsets : places)
    std::sort(offsets.begin(), offsets.end());
}

bool WrittenPlaces::hold(const State &state) const {
  const std::vector<uint64_t> &offsets = places[state.space == Space::Host];
  const auto found = std::lower_bound(offsets.begin(), offsets.end(), state.offset);
  return found != offsets.end() && *found < state.offset + state.desc.bytes();
}

void LoadedValues::see(const State &state, const State &as, const char *values) {
  if (!fault && isFloat(as.desc.type) && holdsTrained(state) && written.hold(state))
    fault = faultOf(state, as.desc.type, values, &state - program.states.data());
}

void LoadedValues::check(Communicator *ranks) const {
  failWithAgreedError(
      ranks, "before the first step the ", fault,
      ": a step would spread it over all parameters; mend the weights, or compile with --freeze "
      "where the tensor is a mask");
}

} // namespace kedge::rt
