// Parameters in a file that keeps no record of them (no graph signature), as torch's TorchScript exporter
// writes it: names of initializers, Identity nodes and nodes are all that there is. Tensors of equal values
// were stored once there, transposed weights lost their names, and a tied head became a tensor of its own.
#pragma once
#include "lib/Lint/Lint.h"
#include "lib/Lint/Roles/Norms.h"
#include <map>

namespace kedge::lint {

struct TracedUse {
  size_t node = 0, operand = 0;
};

/// One parameter's name, and the operands that stand for it.
struct NamedOperands {
  std::string name;
  std::vector<TracedUse> operands;
  std::optional<size_t> identity; // the node that gives the shared tensor this name
};

/// One tensor that stands for several parameters; the first name is its own.
struct SharedTensor {
  std::string tensor;
  std::vector<NamedOperands> names;
  bool isTable = false; // a matrix that is looked up and multiplied: an embedding and its head
};

/// Two tensors of equal values: a table that is looked up, and a matrix that is multiplied.
struct TableCopy {
  std::string table, copy;
  bool transposed = false;
  std::vector<TracedUse> operands; // of the copy
};

/// A tensor that constant folding made, and the name that the path of its reader gives it.
struct Nameless {
  std::string tensor;
  std::vector<NamedOperands> names; // several where equal tensors were merged
  std::string literal;   // the first name, if the path names a module of its own and no second call
  bool isMatrix = false; // a Linear's weight, transposed; else the result of arithmetic, one value a channel
};

class TracedGraph {
public:
  explicit TracedGraph(const model::Graph &);
  std::vector<SharedTensor> shared() const;
  std::vector<TableCopy> copies() const;
  std::vector<Nameless> nameless() const;

private:
  std::optional<SharedTensor> sharedOf(const model::Tensor &) const;
  std::optional<Nameless> namelessOf(const model::Tensor &) const;
  std::vector<NamedOperands> namesOf(const model::Tensor &) const;
  void learnModules();
  void countMatrices();
  std::optional<std::string> moduleAt(const model::Node &) const;
  void addReaders(const std::string &value, NamedOperands &) const;
  std::string foreignName(const model::Tensor &, const TracedUse &, bool uniform) const;
  std::string biasOf(size_t product) const;
  std::string groupNormName(const TracedUse &) const;
  std::string foreignScope(const model::Tensor &, const TracedUse &) const;
  std::string weightName(size_t product, bool literally) const;
  bool isLookedUp(const TracedUse &) const;
  bool isMultiplied(const TracedUse &) const;
  std::optional<TableCopy> copyOf(const model::Tensor &table, const model::Tensor &matrix) const;

  const model::Graph &graph;
  Values values;
  Norms norms;
  std::unordered_map<std::string, std::vector<TracedUse>> readers;
  std::map<std::string, size_t>
      renaming; // output of an Identity that only gives an initializer a second name -> node
  std::unordered_set<std::string> inner;    // values that subgraphs read: left alone
  std::map<std::string, size_t> matricesIn; // module -> nameless matrices that it multiplies with
  std::set<std::string> names;
  std::set<std::string> owners, scopes; // modules that parameters are called after, and that nodes lie in
  bool record = false;                  // the file has a record of its parameters
};

/// "/h/h.0/attn/MatMul_1" -> "h.0.attn"; nullopt for other names.
std::optional<std::string> tracedModule(const model::Node &);

/// "onnx::MatMul_29": what the exporter calls a tensor that it made.
bool isNameless(const std::string &name);

/// "f/norm/Reshape:0", "const_fold_opt__7": as tf2onnx calls tensors. It stores those of equal values once,
/// too, and the names of nodes tell of their layers.
bool isScopedName(const std::string &name);

/// Every element is the same. False when the values cannot be read.
bool isUniform(const model::Tensor &);

/// In training mode the exporter stores tensors once that are one in the model, and no others; optimizers of
/// graphs, which leave no Identity, merge equal ones in any file.
bool isTie(const SharedTensor &, const LintOptions &);

/// The names of a group that --tie keeps on one tensor: those in which an expression is found, if they are
/// two or more.
std::set<std::string> tiedNames(const std::vector<std::string> &group, const std::vector<std::string> &tie);

/// Throws kedge::Error for an expression that ties nothing.
void checkTie(const model::Model &, const std::vector<std::string> &tie);

/// Names initializers without names by the path of their readers. New name -> name in the file.
std::map<std::string, std::string> nameTraced(model::Model &);

/// What --repair does to these files: own tensors for merged parameters, one tensor for a table and its
/// copies, weights in PyTorch's layout (`former` follows). One sentence for each change.
std::vector<std::string> repairTraced(model::Model &, LintOptions &);

/// What --tie does without --repair: one tensor for the tables and copies that it names.
std::vector<std::string> tieTraced(model::Model &, const LintOptions &);

/// What nameTraced() adds to the name of a matrix that is stored transposed.
inline const std::string transposedSuffix = "_transposed";

} // namespace kedge::lint
