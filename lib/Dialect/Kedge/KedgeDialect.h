#pragma once
#include "lib/Dialect/Kedge/KedgeAttrsEnums.h.inc"
#include "lib/Dialect/Kedge/KedgeDialect.h.inc"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Kedge/KedgeAttrs.h.inc"

namespace kedge {
/// Attributes that passes leave for later passes, read as `TargetNote(context).getAttr(op)`. See
/// KedgeDialect.td.
using TargetNote = KedgeDialect::TargetAttrHelper;
using RowsNote = KedgeDialect::RowsAttrHelper;
using SavedNote = KedgeDialect::SavedAttrHelper;
} // namespace kedge
