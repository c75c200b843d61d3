// Optimizer updates, gradient norm, clipping, accumulation.
#ifndef KEDGE_TRAIN_OPTIMIZER_OPS
#define KEDGE_TRAIN_OPTIMIZER_OPS
include "kedge/Dialect/Train/TrainBase.td"

#endif
