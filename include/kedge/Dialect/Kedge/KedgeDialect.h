#pragma once
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Kedge/KedgeAttrsEnums.h.inc"
#include "kedge/Dialect/Kedge/KedgeDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Kedge/KedgeAttrs.h.inc"

namespace kedge {
/// Attributes that passes leave for later passes, read as `TargetNote(context).getAttr(op)`. See
/// KedgeDialect.td.
using TargetNote = KedgeDialect::TargetAttrHelper;
using RowsNote = KedgeDialect::RowsAttrHelper;
using SavedNote = KedgeDialect::SavedAttrHelper;
} // namespace kedge
