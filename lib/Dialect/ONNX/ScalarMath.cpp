#include "lib/Dialect/ONNX/ScalarMath.h"

using namespace mlir;
using namespace kedge;

Value kedge::powerByConstant(ClusterBodyBuilder &body, Value x, double exponent) {
  Value one = body.constant(x.getType(), 1);
  if (exponent == 0)
    return one;
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return body.mul(x, x);
  if (exponent == 3)
    return body.mul(body.mul(x, x), x);
  if (exponent == 0.5)
    return body.sqrt(x);
  if (exponent == -0.5)
    return body.rsqrt(x);
  if (exponent == -1)
    return body.div(one, x);
  if (exponent == -2)
    return body.div(one, body.mul(x, x));
  return body.pow(x, body.constant(x.getType(), exponent));
}

Value kedge::softplus(ClusterBodyBuilder &body, Value x) {
  Value tail = body.log1p(body.exp(body.neg(body.abs(x))));
  return body.add(body.maximum(x, body.constant(x.getType(), 0)), tail);
}
