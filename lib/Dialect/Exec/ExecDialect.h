#pragma once
#include "lib/Dialect/Exec/ExecDialect.h.inc"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

namespace kedge::exec {
/// The attribute for the offset of a state in its arena.
using OffsetNote = ExecDialect::OffsetAttrHelper;
} // namespace kedge::exec
