#pragma once
#include "kedge/Dialect/Sched/SchedAttrs.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Sched/SchedDialect.h.inc"

namespace kedge::sched {
/// Attributes that passes leave for later passes, read as `KernelNote(context).getAttr(op)`. See
/// SchedDialect.td.
using KernelNote = SchedDialect::KernelAttrHelper;
using IterationsNote = SchedDialect::IterationsAttrHelper;
using GrainNote = SchedDialect::GrainAttrHelper;
using WorkspaceNote = SchedDialect::WorkspaceAttrHelper;
using KernelsNote = SchedDialect::KernelsAttrHelper;
using FlatNote = SchedDialect::FlatAttrHelper;
using GridNote = SchedDialect::GridAttrHelper;
using HostNote = SchedDialect::HostAttrHelper;
using DiskNote = SchedDialect::DiskAttrHelper;
using RecomputeNote = SchedDialect::RecomputeAttrHelper;
using PricesNote = SchedDialect::PricesAttrHelper;
using SequenceNote = SchedDialect::SequenceAttrHelper;
using OffloadableNote = SchedDialect::OffloadableAttrHelper;

/// Whether a train.state lives in host memory.
inline bool isOnHost(mlir::Operation *state) { return HostNote(state->getContext()).isAttrPresent(state); }
/// The directory of the file that holds a train.state; null: it is in memory.
inline mlir::StringAttr diskOf(mlir::Operation *state) {
  return DiskNote(state->getContext()).getAttr(state);
}
} // namespace kedge::sched
