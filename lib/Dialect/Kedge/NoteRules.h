// How dialects check the attributes that passes leave for later passes.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace kedge {

/// What an attribute of a name should be, and of which op.
struct NoteRule {
  llvm::StringRef name, expected;
  bool (*fits)(mlir::Operation *op, mlir::Attribute value);
};

inline bool isCount(mlir::Attribute value) {
  auto number = llvm::dyn_cast<mlir::IntegerAttr>(value);
  return number && number.getType().isInteger(64) && number.getInt() >= 0;
}

template <typename OpType, typename Attr> bool isNoteOn(mlir::Operation *op, mlir::Attribute value) {
  return llvm::isa<OpType>(op) && llvm::isa<Attr>(value);
}

inline mlir::LogicalResult verifyNote(mlir::Operation *op, mlir::NamedAttribute note,
                                      llvm::ArrayRef<NoteRule> rules) {
  for (const NoteRule &rule : rules)
    if (note.getName() == rule.name) {
      if (rule.fits(op, note.getValue()))
        return mlir::success();
      return op->emitOpError("'") << rule.name << "' should be " << rule.expected << ", found "
                                  << note.getValue();
    }
  return op->emitOpError("has '") << note.getName().getValue() << "', which is no note of the dialect "
                                  << note.getNameDialect()->getNamespace();
}

} // namespace kedge
