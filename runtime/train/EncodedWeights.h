// Weights in few bits: their states out of the values of a file, and the values out of the states.
#pragma once
#include "runtime/format/QuantisedTensor.h"
#include "runtime/program/Program.h"
#include "runtime/train/StateValues.h"
#include <functional>

namespace kedge::rt {

/// Fills the state's bytes with its part of the encoded weight, slice by slice: no copy of the weight is made.
void encodeWeight(const State &state, const TensorSource &source, char *destination);

/// The same from a weight that is encoded already: its codes as they are. `perm`: the state's axes against the file's. Throws
/// rt::Error that names `path` and `name` where the program is for other codes.
void copyQuantised(const State &state, const QuantisedTensor &tensor, const std::vector<int> &perm, const std::string &path,
                   const std::string &name, char *destination);

/// The values, in f32, of the weight that the state holds the codes of. `fetch` gives a state's bytes until its next call.
std::vector<float> decodedWeight(const Program &program, const State &codes,
                                 const std::function<const char *(const State &)> &fetch);

} // namespace kedge::rt
