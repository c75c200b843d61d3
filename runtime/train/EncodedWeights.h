// Weights in few bits: their states out of the values of a file, and the values out of the states.
#pragma once
#include "runtime/program/Program.h"
#include "runtime/train/StateValues.h"
#include <functional>

namespace kedge::rt {

/// Fills the state's bytes with its part of the encoded weight, slice by slice: no copy of the weight is made.
void encodeWeight(const State &state, const TensorSource &source, char *destination);

/// The values, in f32, of the weight that the state holds the codes of. `fetch` gives a state's bytes until its next call.
std::vector<float> decodedWeight(const Program &program, const State &codes,
                                 const std::function<const char *(const State &)> &fetch);

} // namespace kedge::rt
