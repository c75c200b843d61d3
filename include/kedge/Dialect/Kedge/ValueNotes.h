// What the results of an op are of the step, wherever and in how many parts they are computed: kedge diff
// pairs the values of two programs by it.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace kedge {

inline constexpr llvm::StringLiteral valuesName = "kedge.values";

/// Of a result; null: it is no value of the step, but a part of one, or a copy. `value` is its name;
/// `micro` its micro-batch, where one function has several; `cut` and `sum` say what ranks have of it.
mlir::DictionaryAttr valueNoteOf(mlir::Value result);
/// Of all results, null ones included.
llvm::SmallVector<mlir::DictionaryAttr> valueNotesOf(mlir::Operation *op);
/// One note for each result; without any, the attribute is not there.
void setValueNotes(mlir::Operation *op, llvm::ArrayRef<mlir::DictionaryAttr> notes);
/// `to` has the results of `from`.
void copyValueNotes(mlir::Operation *from, mlir::Operation *to);
/// Where the value is the result of an op and has none yet.
void giveValueNote(mlir::Value value, mlir::DictionaryAttr note);
/// `to` are the results of `from` in its place; what is of another type is another value.
void giveValueNotes(mlir::Operation *from, mlir::ValueRange to);
/// The note with another entry.
mlir::DictionaryAttr withEntry(mlir::DictionaryAttr note, llvm::StringRef key, mlir::Attribute value);

mlir::LogicalResult verifyValueNotes(mlir::Operation *op, mlir::Attribute value);

} // namespace kedge
