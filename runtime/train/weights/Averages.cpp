#include "runtime/train/weights/Averages.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {
namespace {

/// `body(parameter, average)` for each pair.
template <typename Body> void forEachAverage(const Program &program, Body &&body) {
  for (const State &state : program.states) {
    if (state.role != StateRole::Average)
      continue;
    const State *parameter = program.state(state.of);
    if (!parameter || parameter->desc.type != state.desc.type ||
        parameter->desc.bytes() != state.desc.bytes())
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

} // namespace

void checkAverages(const Program &program, const char *flag) {
  for (const State &state : program.states)
    if (state.role == StateRole::Average)
      return;
  fail("{}: the program keeps no averages of its weights; compile it with --ema 0.999", flag);
}

void startAverages(Executor &executor) {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    copyBytes(executor, average, bytesOf(executor, parameter).data());
  });
}

void exchangeAverages(Executor &executor) {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    const std::string weights = bytesOf(executor, parameter);
    copyBytes(executor, parameter, bytesOf(executor, average).data());
    copyBytes(executor, average, weights.data());
  });
  if (executor.program().function("restore"))
    executor.run("restore");
}

} // namespace kedge::rt
