// Reductions, softmax, cumulative sums, argmax.
#ifndef KEDGE_ONNX_REDUCTION_OPS
#define KEDGE_ONNX_REDUCTION_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

#endif
