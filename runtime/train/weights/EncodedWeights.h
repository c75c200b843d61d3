// Weights in few bits: encodes the values of a file into states, and decodes states.
#pragma once
#include "runtime/format/QuantisedTensor.h"
#include "runtime/program/Program.h"
#include "runtime/train/weights/StateValues.h"
#include <functional>

namespace kedge::rt {

/// Fills the state with its part of the encoded weight. Works slice by slice, without a copy of the weight.
void encodeWeight(const State &state, const TensorSource &source, char *destination);

/// The same for a weight that is already encoded: copies its codes. `perm`: the state's axes relative to
/// the file's. Throws rt::RuntimeError that names `path` and `name` if the program expects another encoding.
void copyQuantised(const State &state, const QuantisedTensor &tensor, const std::vector<int> &perm,
                   const std::string &path, const std::string &name, char *destination);

/// The weight that a state holds a part of in few bits (codes, or what adds to them), as a state of all of it
/// in f32.
State wholeOfEncoded(const Program &program, const State &state);

/// Decodes the weight whose codes the state has, in f32. `fetch` returns a state's bytes, valid until its
/// next call.
std::vector<float> decodedWeight(const Program &program, const State &codes,
                                 const std::function<const char *(const State &)> &fetch);

} // namespace kedge::rt
