#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Exec/ExecDialect.h.inc"

namespace kedge::exec {
/// The attribute for the offset of a state in its arena.
using OffsetNote = ExecDialect::OffsetAttrHelper;

/// What a file in place of host memory is read and written in: a state there takes whole blocks.
inline constexpr int64_t diskBlock = 4096;
} // namespace kedge::exec
