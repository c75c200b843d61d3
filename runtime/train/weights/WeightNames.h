// Matches the tensors of --weights to those of the program by name; handles the names in Hugging Face's
// files.
#pragma once
#include "runtime/format/TensorFile.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

struct MatchedWeights {
  /// By the state's ONNX name. States without an entry keep the value from the model.
  std::map<std::string, const TensorView *> tensors;
  std::map<std::string, std::string> names; ///< the names of these tensors in the file
  std::vector<std::string> notes;           ///< how names were matched, one sentence each
};

/// Finds `wanted` in a file: by its name, by the name of a tensor tied to it, or by
/// its name with leading module paths added or removed. Buffers may be missing,
/// parameters only with `partial`. Throws rt::RuntimeError that lists all missing tensors.
MatchedWeights matchWeights(const std::string &source, const TensorFile &file,
                            const std::vector<const State *> &wanted, bool partial);

} // namespace kedge::rt
