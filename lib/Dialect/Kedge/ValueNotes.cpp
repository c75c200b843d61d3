#include "kedge/Dialect/Kedge/ValueNotes.h"

using namespace mlir;
using namespace kedge;

DictionaryAttr kedge::valueNoteOf(Value result) {
  auto own = dyn_cast<OpResult>(result);
  auto notes = own ? own.getOwner()->getAttrOfType<ArrayAttr>(valuesName) : ArrayAttr();
  if (!notes)
    return {};
  auto note = cast<DictionaryAttr>(notes[own.getResultNumber()]);
  return note.empty() ? DictionaryAttr() : note;
}

SmallVector<DictionaryAttr> kedge::valueNotesOf(Operation *op) {
  SmallVector<DictionaryAttr> notes;
  for (OpResult result : op->getResults())
    notes.push_back(valueNoteOf(result));
  return notes;
}

void kedge::setValueNotes(Operation *op, ArrayRef<DictionaryAttr> notes) {
  if (llvm::none_of(notes, [](DictionaryAttr note) { return static_cast<bool>(note); })) {
    op->removeDiscardableAttr(valuesName);
    return;
  }
  SmallVector<Attribute> all;
  for (DictionaryAttr note : notes)
    all.push_back(note ? note : DictionaryAttr::get(op->getContext()));
  op->setDiscardableAttr(valuesName, ArrayAttr::get(op->getContext(), all));
}

void kedge::copyValueNotes(Operation *from, Operation *to) {
  if (Attribute notes = from->getDiscardableAttr(valuesName))
    to->setDiscardableAttr(valuesName, notes);
}

void kedge::giveValueNote(Value value, DictionaryAttr note) {
  auto made = dyn_cast<OpResult>(value);
  if (!made || valueNoteOf(made))
    return;
  SmallVector<DictionaryAttr> notes = valueNotesOf(made.getOwner());
  notes[made.getResultNumber()] = note;
  setValueNotes(made.getOwner(), notes);
}

void kedge::giveValueNotes(Operation *from, ValueRange to) {
  for (auto [result, value] : llvm::zip(from->getResults(), to))
    if (DictionaryAttr note = valueNoteOf(result); note && value.getType() == result.getType())
      giveValueNote(value, note);
}

DictionaryAttr kedge::withEntry(DictionaryAttr note, StringRef key, Attribute value) {
  NamedAttrList entries(note);
  entries.set(key, value);
  return entries.getDictionary(note.getContext());
}

LogicalResult kedge::verifyValueNotes(Operation *op, Attribute value) {
  auto notes = dyn_cast<ArrayAttr>(value);
  if (!notes || !llvm::all_of(notes, [](Attribute note) { return isa<DictionaryAttr>(note); }))
    return op->emitOpError("'kedge.values' should be a list of dictionaries");
  if (op->getNumResults() > 0 && notes.size() != op->getNumResults())
    return op->emitOpError("'kedge.values' has ")
           << notes.size() << " values for " << op->getNumResults() << " results";
  return success();
}
