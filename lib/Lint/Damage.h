// What PyTorch's exporter did to the parameters, as far as its metadata proves it. Findings report it, repair
// undoes it.
#pragma once
#include "lib/Lint/Repair/Stacks.h"
#include "lib/Lint/Repair/Unfoldings.h"

namespace kedge::lint {

/// How an initializer that constant folding made relates to the parameter that it came from.
enum class Folding {
  Transposed, // a matrix, its two axes exchanged
  Vector,     // one value a channel, with axes of length 1 around
  Same,       // the parameter itself
  Renamed,    // the parameter itself, in an order of elements that the file does not tell
  Places,     // the first T rows of a table of position embeddings
  FirstRow,   // row 0 of a table, repeated (the type of all tokens)
  Rows,       // rows of a table that were looked up at export by numbers that the file no longer has
  Part,       // a slice, or repeated by Expand
  Moved,      // the parameter times `scale` plus `shift`, both recorded
  Computed    // the result of arithmetic: the parameter's own values are gone
};

struct Folded {
  std::string tensor;
  Folding kind = Folding::Computed;
  std::vector<std::string> sources; // dotted names of the parameters that went into it
  double scale = 1, shift = 0;
  /// Of equal results the exporter kept this tensor: the parameters of the others, and who reads them.
  std::map<std::string, std::vector<Use>> others = {};
  bool isCopy() const {
    return kind == Folding::Transposed || kind == Folding::Vector || kind == Folding::Same ||
           kind == Folding::Renamed;
  }
  bool isLoss() const { return !isCopy(); }
};

/// One tensor that stands for several parameters (or for parameters and a constant: name "").
struct Merged {
  std::string tensor;
  std::vector<std::pair<std::string, std::vector<Use>>>
      names; // placeholder -> uses, in the order of the graph
};

/// A node whose call had a bias that the file no longer holds.
struct DroppedBias {
  size_t node = 0;
  std::string placeholder;
};

/// A convolution or product that carries the effect of a norm.
struct FusedNorm {
  size_t node = 0;
  std::string module;
  std::vector<std::string> parameters; // dotted
};

/// A node that stands for a second one beside it, whose parameters had the same content.
struct SharedNode {
  size_t node = 0;
  std::string result; // what the lost node's result was called
  std::vector<std::pair<Use, std::string>>
      parameters;           // operand of the node -> placeholder that the lost one read
  std::vector<Use> readers; // operands that belong to the lost node's result
};
std::vector<SharedNode> findSharedNodes(const model::Graph &, const Signature &, const Uses &);

/// The record of a tensor or node does not fit the file.
struct Contradiction {
  std::string place, reason;
};

struct Damage {
  std::vector<Contradiction> contradictions; // with any, nothing is mended
  std::vector<Unfolding> unfoldings;
  std::vector<ParameterStack> stacks;
  std::vector<SharedNode> shared;
  std::vector<Folded> folded;
  std::vector<Merged> merged;
  std::vector<DroppedBias> dropped;
  std::vector<FusedNorm> fused;

  const Folded *foldedOf(const std::string &tensor) const;
  const Merged *mergedOf(const std::string &tensor) const;
  bool isUnfolded(const std::string &tensor) const;
};

Damage findDamage(const model::Graph &, const Signature &, const Uses &);

/// The one parameter that all uses agree on; "" when they do not or nothing tells.
std::string agreedPlaceholder(const std::vector<Use> &);

} // namespace kedge::lint
