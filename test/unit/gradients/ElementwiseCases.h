// Gradient cases of ops that compute each element from the elements at its place: one function an op, over a
// scalar, one element, no element, and for two operands all ways to broadcast.
#pragma once
#include <string>
#include <vector>

namespace kedge::test {

struct ElementwiseCase {
  const char *op; ///< "onnx.Relu"
  int operands;
  double low, high; ///< where arguments are drawn: inside the domain, kinks allowed where no draw comes near
  const char *attributes = "";
};

std::vector<ElementwiseCase> elementwiseCases();

/// func.func @<op> in f64, as checkGradients takes it.
std::string functionText(const ElementwiseCase &entry);

} // namespace kedge::test
