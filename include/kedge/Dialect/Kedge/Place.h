// The place of an op: the layer of the model that it belongs to. Reading it, and passing it on to new ops.
#pragma once
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "mlir/IR/Builders.h"

namespace kedge {

inline constexpr llvm::StringLiteral placeName = "kedge.place";

/// Null when the op has none.
PlaceAttr placeOf(mlir::Operation *op);
/// The place of the op that defines the value; null for arguments.
PlaceAttr placeOfProducer(mlir::Value value);
/// A null place changes nothing.
void setPlace(mlir::Operation *op, PlaceAttr place);
/// Whether the op should have a place: ops in functions that compute something,
/// and launches. Constants and the ops in bodies of clusters have none.
bool needsPlace(mlir::Operation *op);
/// All attributes except the place, to compare ops or to copy to another one.
mlir::DictionaryAttr attributesWithoutPlace(mlir::Operation *op);

/// Gives every op that a builder inserts the current place, unless the op already has one (as clones do).
struct PlaceListener : mlir::OpBuilder::Listener {
  PlaceAttr place;
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;
};

/// Sets the current place until the end of the scope.
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

/// Inserts ops before a given op, and gives all of them that op's place.
class PlacedBuilder : public mlir::OpBuilder {
public:
  explicit PlacedBuilder(mlir::Operation *op) : PlacedBuilder(op, placeOf(op)) {}
  PlacedBuilder(mlir::Operation *before, PlaceAttr place) : OpBuilder(before) {
    listener.place = place;
    setListener(&listener);
  }
  PlacedBuilder(const PlacedBuilder &) = delete;

  /// Sets the place of ops that are built from here on.
  void enter(PlaceAttr place) { listener.place = place; }

private:
  PlaceListener listener;
};

} // namespace kedge
