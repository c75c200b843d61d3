// Which tensor of --weights is which of the program's: by name, as Hugging Face's files have them.
#pragma once
#include "runtime/format/TensorFile.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

struct MatchedWeights {
  /// By the ONNX name of the state; what is not there keeps the value that the model gives it.
  std::map<std::string, const TensorView *> tensors;
  std::map<std::string, std::string> names; ///< of these tensors in the file
  std::vector<std::string> notes; ///< what was done about names, a sentence each
};

/// Finds `wanted` in a file: by its very name, by the name of a tensor that it is tied to, by its name with module paths in
/// front added or left out. Buffers may be missing; parameters only with `partial`. Throws rt::Error that names all that
/// are missing.
MatchedWeights matchWeights(const std::string &source, const TensorFile &file, const std::vector<const State *> &wanted,
                            bool partial);

} // namespace kedge::rt
