// Elementwise arithmetic, logic, activations, casts, random.
#ifndef KEDGE_ONNX_MATH_OPS
#define KEDGE_ONNX_MATH_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

#endif
