// Gradients of onnx ops that have no form as onnx ops, and fused forms of attention.
#ifndef KEDGE_TRAIN_GRADIENT_OPS
#define KEDGE_TRAIN_GRADIENT_OPS
include "kedge/Dialect/Train/TrainBase.td"

#endif
