// Places for modules that tests write by hand, as import gives them.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::test {

inline void givePlaces(mlir::ModuleOp module) {
  auto place = PlaceAttr::get(module.getContext(), TrainingPhase::Forward, "", "test");
  module.walk([&](mlir::Operation *op) {
    if (needsPlace(op) && !placeOf(op))
      setPlace(op, place);
  });
}

} // namespace kedge::test
