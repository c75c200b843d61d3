// Norms, attention, gelu, silu, rotary embedding, losses.
#ifndef KEDGE_ONNX_COMPOSITE_OPS
#define KEDGE_ONNX_COMPOSITE_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

#endif
