// What a tensor's name says, by the exporter that wrote the file.
#pragma once
#include "lib/Model/Model.h"
#include <map>
#include <set>

namespace kedge::lint {

enum class NameSays {
  Nothing,
  Parameter,
  Buffer,
  Constant,
  ConstantResult, // of a Constant node, which holds no parameter's values
  FusedNorm       // what a folded BatchNormalization left
};

class Names {
public:
  /// `former`: names in the file, of tensors that lint has named itself; these say nothing.
  Names(const model::Model &, const std::map<std::string, std::string> &former);

  NameSays says(const std::string &tensor) const;
  /// "tf2onnx", "Paddle", ...: whose table is asked; "" for a file whose exporter is not known.
  const std::string &exporter() const { return writer; }
  /// The same of what a node reads, by the node's name: a folded BatchNormalization, in files of tf2onnx.
  bool isFusedNorm(const model::Node &reader) const;
  /// A vector of a spectral norm, next to its weight.
  bool isSpectralVector(const std::string &tensor) const { return vectors.count(tensor) != 0; }
  /// FrozenBatchNorm2d: running_mean and running_var stand beside it, and no BatchNormalization reads them.
  bool isFrozenNorm(const std::string &tensor) const { return frozen.count(tensor) != 0; }

private:
  void findSiblings(const model::Model &);
  NameSays saysPyTorch(const std::string &) const;

  const std::map<std::string, std::string> &former;
  std::string writer;
  std::set<std::string> frozen, vectors; // vectors: those of a spectral norm
};

/// mean, std and the like: what a module that normalizes inputs calls its buffers.
bool isStatisticName(const std::string &name);
/// alibi, attn_mask and the like, and pos_bias, relative_position_bias and the like: which of the two a
/// tensor is that is added before a Softmax.
NameSays saysBeforeSoftmax(const std::string &name);

} // namespace kedge::lint
