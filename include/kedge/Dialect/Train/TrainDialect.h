#pragma once
#include "kedge/Dialect/Train/TrainEnums.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Train/TrainDialect.h.inc"

namespace kedge::train {
/// Attributes that passes leave for later passes, read as `BoundsNote(context).getAttr(op)`. See
/// TrainDialect.td.
using BoundsNote = TrainDialect::BoundsAttrHelper;
using ModulesNote = TrainDialect::ModulesAttrHelper;
using UpdatesNote = TrainDialect::UpdatesAttrHelper;
using NominalItemsNote = TrainDialect::NominalItemsAttrHelper;
using LossGradientNote = TrainDialect::LossGradientAttrHelper;
using TrainingInfoNote = TrainDialect::TrainingInfoAttrHelper;
using ChunkNote = TrainDialect::ChunkAttrHelper;

/// Whether the file's training_info, not an optimizer of ours, makes the step of this function.
inline bool isOfTrainingInfo(mlir::Operation *function) {
  return TrainingInfoNote(function->getContext()).isAttrPresent(function);
}
} // namespace kedge::train
