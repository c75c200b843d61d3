// Products with weights: which operands are weights, and which product stands before a sum.
#pragma once
#include "lib/Lint/Roles/Values.h"

namespace kedge::lint {

/// An operand that is a weight, a bias, a table or a slope by its operator alone, if it is a constant.
enum class OperandPart { None, Weight, Bias, Table, Slope, Scale, Shift, InitialState, Mask, Statistic };
OperandPart operandPart(const model::Node &, size_t operand);

/// MatMul, Gemm, Einsum, convolutions.
bool isProduct(const model::Node &);

/// A product with a constant that stands before a value.
struct Product {
  const model::Node *node = nullptr;
  int64_t features =
      -1;               // length of the axis, or of the axes, that the weight gives its result; -1: not known
  bool spatial = false; // a convolution: the axis is that of the channels
  size_t fromLast =
      0;              // where that axis is, counted from the last; of convolutions the number of spatial axes
  bool moved = false; // axes have changed since
};

class Products {
public:
  explicit Products(const Values &values) : values(values) {}

  /// A product that nothing has added a bias to yet, behind moves, numbers and sums.
  std::optional<Product> openBehind(const std::string &value) const;
  /// The same, whether or not it has its bias.
  std::optional<Product> behind(const std::string &value) const;
  /// Whether a constant of these dimensions lies along the axis that the weight gave the product.
  static bool fits(const Product &, const Dims &);

private:
  std::optional<Product> search(const std::string &value, bool open, int depth) const;
  std::optional<Product> productOf(const model::Node &) const;
  int64_t einsumFeatures(const model::Node &) const;

  const Values &values;
};

} // namespace kedge::lint
