// Shapes, gathers, scatters, slices, resizing.
#ifndef KEDGE_ONNX_MOVEMENT_OPS
#define KEDGE_ONNX_MOVEMENT_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

#endif
