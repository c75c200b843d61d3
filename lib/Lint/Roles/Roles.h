// What a tensor does in the graph: the evidence for files that do not say what their tensors are.
#pragma once
#include "lib/Lint/Roles/Norms.h"
#include "lib/Lint/Roles/Products.h"
#include <functional>

namespace kedge::lint {

/// How sure a role is that its tensor trains, or that it does not.
enum class Claim {
  None,      // nothing known reads it so
  Parameter, // weights, biases, scales of norms, slopes, tables
  Weak,      // a constant, unless a name says that it is learned: exponents, bounds, gates, initial states
  Input,     // a constant that normalizes an input of the model, or that undoes it at an output
  Mask,      // added before a Softmax
  Constant,  // a constant whatever its name: tables of a rotary embedding, scales of quantised tensors
  Affine     // a product or a sum with one value a channel, as a folded norm leaves them
};

struct GraphRole {
  Claim claim = Claim::None;
  std::string what;                  // "the bias of MatMul 'm'"; of None: "an operand of Mul 'x'"
  const model::Node *node = nullptr; // that reads the tensor, behind moves
  bool operator==(const GraphRole &other) const { return claim == other.claim && what == other.what; }
};

class Roles {
public:
  /// `carries`: whether a gradient goes through an operand.
  Roles(const model::Graph &, std::function<bool(const model::Node &, size_t operand)> carries);

  /// All roles of a tensor, in the order of its readers.
  std::vector<GraphRole> of(const std::string &tensor) const;
  const Values &graph() const { return values; }
  const Norms &norms() const { return normalizations; }
  /// Products with weights that get no bias.
  size_t productsWithoutBias() const;
  /// Norms that are not scaled, and those that are, but get no shift.
  struct LackingNorms {
    size_t scale = 0, shift = 0;
  };
  LackingNorms lackingNorms() const;

private:
  void collect(const std::string &value, int depth, std::vector<GraphRole> &roles) const;
  GraphRole roleOf(const std::string &value, const model::Node &, size_t operand) const;
  std::optional<GraphRole> byOperator(const std::string &value, const model::Node &, size_t operand) const;
  std::optional<GraphRole> ofSum(const std::string &value, const model::Node &, size_t operand) const;
  std::optional<GraphRole> ofProduct(const std::string &value, const model::Node &, size_t operand) const;
  std::optional<GraphRole> atEnds(const std::string &value, const model::Node &, size_t operand) const;
  bool isOnlyBias(const std::string &value, const model::Node &gemm) const;
  bool isSlope(const std::string &value, const model::Node &, size_t operand) const;
  bool isRotary(const std::string &value, int depth = 0) const;
  bool sharesRoot(const std::string &a, const std::string &b) const;
  bool leadsTo(const std::string &value, const std::set<std::string> &ops, int depth = 0) const;
  bool countsPositions(const model::Node &, size_t operand) const;
  bool isTail(const std::string &value, int depth = 0) const;
  void findInputs();

  Values values;
  Norms normalizations;
  Products products;
  std::function<bool(const model::Node &, size_t)> carries;
  std::set<std::string> raw;     // values that follow from inputs without any parameter
  std::set<std::string> counted; // those of them that follow from integers alone
};

/// All elements 0, 1, infinite or beyond 1e30. False when the values cannot be read.
bool hasMaskValues(const model::Tensor &);
/// No more than two values, of which one is 0.
bool hasTwoValues(const model::Tensor &);
/// Some element is infinite or beyond 1e30. False when the values cannot be read.
bool holdsInfinity(const model::Tensor &);
/// The first element that is not a finite number; nullopt when there is none or the values cannot be read.
std::optional<double> firstNonFinite(const model::Tensor &);

} // namespace kedge::lint
