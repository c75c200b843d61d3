#pragma once
#include "lib/Dialect/Exec/ExecDialect.h.inc"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

namespace kedge::exec {
/// The attribute for the offset of a state in its arena.
using OffsetNote = ExecDialect::OffsetAttrHelper;

/// What a file in place of host memory is read and written in: a state there takes whole blocks.
inline constexpr int64_t diskBlock = 4096;
} // namespace kedge::exec
