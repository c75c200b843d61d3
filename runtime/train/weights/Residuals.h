// Parameters that memory holds in two parts (--master-weights split): filled from values, read as values.
#pragma once
#include "runtime/exec/Executor.h"
#include <vector>

namespace kedge::rt {

/// What a parameter in 16 bits lacks of its value; null if it is the value.
const State *residualOf(const Program &program, const State &state);

/// The parameter of a residual, or one with a residual, as if it were held in f32 where `part` is.
State wideState(const Program &program, const State &part);

/// The bytes of a part of these values.
void takePart(const State &part, const std::vector<float> &values, char *destination);

/// The values of a parameter and its residual, element by element.
void joinParts(const char *value, const char *residual, std::vector<float> &values);

/// `fill(const State &as, char *destination)` gives the state's values in the form of `as`, which is the
/// state itself but for parts: of each of them it is asked for the values.
template <typename Fill> void fillState(Executor &executor, const State &state, Fill &&fill) {
  const bool isPart = state.role == StateRole::Residual || residualOf(executor.program(), state);
  if (!isPart)
    return executor.write(state, [&](char *destination) { fill(state, destination); });
  const State wide = wideState(executor.program(), state);
  std::vector<float> values(static_cast<size_t>(wide.desc.elements()));
  fill(wide, reinterpret_cast<char *>(values.data()));
  executor.write(state, [&](char *destination) { takePart(state, values, destination); });
}

} // namespace kedge::rt
