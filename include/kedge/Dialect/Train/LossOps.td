// Losses of the logits and their gradients.
#ifndef KEDGE_TRAIN_LOSS_OPS
#define KEDGE_TRAIN_LOSS_OPS
include "kedge/Dialect/Train/TrainBase.td"

#endif
