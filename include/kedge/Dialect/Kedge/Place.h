// Places of ops: reading them, and keeping them where ops are made.
#pragma once
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "mlir/IR/Builders.h"

namespace kedge {

inline constexpr llvm::StringLiteral placeName = "kedge.place";

/// Null when the op has none.
PlaceAttr placeOf(mlir::Operation *op);
/// That of the op which makes the value; null for arguments.
PlaceAttr placeOfMaker(mlir::Value value);
/// A null place changes nothing.
void setPlace(mlir::Operation *op, PlaceAttr place);
/// Whether a place belongs on it: ops of functions that compute something, and launches; constants and bodies of clusters
/// have none.
bool needsPlace(mlir::Operation *op);
/// What an op is beside where it belongs, to compare ops by or to pass on.
mlir::DictionaryAttr attributesWithoutPlace(mlir::Operation *op);

/// Gives what a builder inserts the place of what is being worked on, unless it has one (clones do).
struct PlaceListener : mlir::OpBuilder::Listener {
  PlaceAttr place;
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;
};

/// The place of what is worked on, until the end of the scope.
class PlaceScope {
public:
  PlaceScope(PlaceListener &listener, PlaceAttr place) : listener(listener), before(listener.place) {
    listener.place = place;
  }
  ~PlaceScope() { listener.place = before; }
  PlaceScope(const PlaceScope &) = delete;

private:
  PlaceListener &listener;
  PlaceAttr before;
};

/// Builds in front of an op what stands for it or belongs to it: all of it has the op's place.
class PlacedBuilder : public mlir::OpBuilder {
public:
  explicit PlacedBuilder(mlir::Operation *op) : PlacedBuilder(op, placeOf(op)) {}
  PlacedBuilder(mlir::Operation *before, PlaceAttr place) : OpBuilder(before) {
    listener.place = place;
    setListener(&listener);
  }
  PlacedBuilder(const PlacedBuilder &) = delete;

  /// What is built from here on belongs there.
  void enter(PlaceAttr place) { listener.place = place; }

private:
  PlaceListener listener;
};

} // namespace kedge
