#include "runtime/train/FiniteStates.h"
#include "runtime/comm/AgreedError.h"
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

/// Whether a launch of a step writes into it. What none writes is as the user gave it: masks may be infinite.
bool isWritten(const Program &program, const State &state) {
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      for (size_t i = launch.reads; i < launch.args.size(); ++i) {
        const Space space = static_cast<int>(i) == launch.hostArg ? Space::Host : Space::Device;
        if (space == state.space && launch.args[i] >= state.offset &&
            launch.args[i] < state.offset + state.desc.bytes())
          return true;
      }
  return false;
}

std::optional<Word> firstFault(const Executor &executor) {
  int64_t order = 0;
  for (const State &state : executor.program().states) {
    ++order;
    if (!isFloat(state.desc.type) || keptOf(state) != Kept::Values || !isWritten(executor.program(), state))
      continue;
    const char *data = executor.read(state);
    const int64_t at = firstNotFinite(state.desc.type, data, state.desc.elements());
    if (at >= 0)
      return Word{order, fmt::format("{} '{}' is not finite ({} at element {})", roleName(state.role),
                                     state.onnxName.empty() ? state.name : state.onnxName,
                                     loadAsDouble(state.desc.type, data, at), at)};
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

void checkFirstStatesFinite(const Executor &executor) {
  failWithAgreedError(
      executor.communicator(), "before the first step the ", firstFault(executor),
      ": a step would spread it over all parameters; mend the weights, or compile with --freeze "
      "where the tensor is a mask");
}

} // namespace kedge::rt
