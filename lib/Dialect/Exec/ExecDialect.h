#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "lib/Dialect/Exec/ExecDialect.h.inc"

namespace kedge::exec {
/// The attribute for the offset of a state in its arena.
using OffsetNote = ExecDialect::OffsetAttrHelper;
} // namespace kedge::exec
