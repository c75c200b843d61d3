// Shared by what --repair and ties do to the graph.
#pragma once
#include "lib/Lint/Damage.h"

namespace kedge::lint {

/// Whether --repair can make this folded tensor a parameter again.
bool isRepairable(const Folded &, const model::Tensor &);

/// Elements of the bias that a product or norm adds; nullopt when its weight's shape is not told.
std::optional<int64_t> biasLength(const model::Graph &, const model::Node &);

model::Node makeNode(std::string opType, std::vector<std::string> inputs, std::string output);
/// "1 name", "3 names".
std::string countOf(size_t n, const char *one, const char *many);

/// The rows of a folded embedding: which are distinct, and which place holds which.
struct DistinctRows {
  std::vector<int64_t> first;   // row of the tensor that a row of the table is
  std::vector<int64_t> indices; // row of the table, for every row of the tensor
  int64_t length = 0;           // elements of a row
};
/// Rows along the last axis. Nullopt when all rows are one constant: the file no longer tells whether they
/// are one row or many that were never trained.
std::optional<DistinctRows> distinctRows(const model::Tensor &);

/// The first `rows` slices of a tensor whose other leading slices repeat them, as [rows, last axis]; nullopt
/// when they do not.
std::optional<model::Tensor> leadingRows(const model::Tensor &, int64_t rows, std::string name);

/// The values of one parameter of an unfolding.
model::Tensor unfolded(const model::Tensor &, const Unfolding &, const std::string &placeholder,
                       std::string name);
/// `scale` and `shift` taken out of a tensor again.
model::Tensor movedBack(const model::Tensor &, double scale, double shift, std::string name);

/// How many leading axes of a repeated tensor hold equal slices, and so collapse to length 1.
int64_t repeatedAxes(const model::Tensor &);

/// Whether their bytes differ.
bool holdsOther(const model::Tensor &, const model::Tensor &);
/// The two axes of a matrix exchanged.
model::Tensor transposed(const model::Tensor &, std::string name);

/// Edits a graph: new tensors and nodes in place, names kept unique, order kept topological.
class GraphEditor {
public:
  explicit GraphEditor(model::Graph &graph) : graph(graph) {}
  model::Tensor *tensor(const std::string &name);
  bool isTaken(const std::string &name) const;
  std::string fresh(std::string name) const;
  void addTensor(model::Tensor, const std::string &placeholder = {});
  void removeTensor(const std::string &name);
  /// Puts a node in front of all others once finish() is called; `like` lends it opset and module.
  void addFront(model::Node, const model::Node &like);
  void insertAfter(size_t node, model::Node);
  /// Inserts what was added; node numbers are valid until here.
  void finish();

private:
  model::Graph &graph;
  std::vector<model::Node> front;
  std::multimap<size_t, model::Node> behind;
};

} // namespace kedge::lint
