#include "runtime/train/weights/Averages.h"
#include "runtime/io/Error.h"
#include "runtime/train/weights/Residuals.h"
#include <cstring>

namespace kedge::rt {
namespace {

/// `body(parameter, average)` for each pair.
template <typename Body> void forEachAverage(const Program &program, Body &&body) {
  for (const State &state : program.states) {
    if (state.role != StateRole::Average)
      continue;
    const State *parameter = program.state(state.of);
    if (!parameter || (parameter->desc.type != state.desc.type && parameter->desc.type != DType::BF16) ||
        parameter->desc.elements() != state.desc.elements())
      fail("the program is damaged: '{}' is not the average of '{}'", state.name, state.of);
    body(*parameter, state);
  }
}

void copyBytes(Executor &executor, const State &state, const char *from) {
  executor.write(state, [&](char *to) { std::memcpy(to, from, state.desc.bytes()); });
}

/// What a device shows is valid until the next call.
std::string bytesOf(const Executor &executor, const State &state) {
  return {executor.read(state), state.desc.bytes()};
}

bool areAlike(const State &parameter, const State &average) {
  return parameter.desc.type == average.desc.type;
}

/// What a parameter in 16 bits is worth, with its residual where it has one.
std::vector<float> valuesOf(const Executor &executor, const State &parameter) {
  const std::string value = bytesOf(executor, parameter);
  const State *residual = residualOf(executor.program(), parameter);
  const std::string rest = residual ? bytesOf(executor, *residual)
                                    : std::string(static_cast<size_t>(parameter.desc.elements()), 0);
  std::vector<float> values(static_cast<size_t>(parameter.desc.elements()));
  joinParts(value.data(), rest.data(), values);
  return values;
}

void setPart(Executor &executor, const State &part, const std::vector<float> &values) {
  executor.write(part, [&](char *to) { takePart(part, values, to); });
}

} // namespace

void checkAverages(const Program &program, const char *flag) {
  for (const State &state : program.states)
    if (state.role == StateRole::Average)
      return;
  fail("{}: the program keeps no averages of its weights; compile it with --ema 0.999", flag);
}

void startAverages(Executor &executor) {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    if (areAlike(parameter, average))
      copyBytes(executor, average, bytesOf(executor, parameter).data());
    else
      copyBytes(executor, average, reinterpret_cast<const char *>(valuesOf(executor, parameter).data()));
  });
}

void AveragesAsWeights::put() {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    const std::string weights = bytesOf(executor, parameter), averaged = bytesOf(executor, average);
    if (areAlike(parameter, average)) {
      copyBytes(executor, parameter, averaged.data());
      copyBytes(executor, average, weights.data());
      return;
    }
    std::vector<float> values(static_cast<size_t>(average.desc.elements()));
    std::memcpy(values.data(), averaged.data(), averaged.size());
    aside.emplace_back(&parameter, weights);
    setPart(executor, parameter, values);
    if (const State *residual = residualOf(executor.program(), parameter)) {
      aside.emplace_back(residual, bytesOf(executor, *residual));
      setPart(executor, *residual, values);
    }
  });
  restore();
}

void AveragesAsWeights::takeBack() {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    if (!areAlike(parameter, average))
      return;
    const std::string averaged = bytesOf(executor, parameter);
    copyBytes(executor, parameter, bytesOf(executor, average).data());
    copyBytes(executor, average, averaged.data());
  });
  for (const auto &[state, weights] : aside)
    copyBytes(executor, *state, weights.data());
  aside.clear();
  restore();
}

void AveragesAsWeights::restore() {
  if (executor.program().function("restore"))
    executor.run("restore");
}

} // namespace kedge::rt
