// Products, convolutions, pooling, recurrent.
#ifndef KEDGE_ONNX_NEURALNETWORK_OPS
#define KEDGE_ONNX_NEURALNETWORK_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

#endif
