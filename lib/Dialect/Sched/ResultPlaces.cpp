#include "kedge/Dialect/Sched/ResultPlaces.h"

using namespace mlir;
using namespace kedge;

static constexpr StringLiteral resultPlaces = "kedge.result_places";

PlaceAttr sched::computedAt(ClusterOp cluster, unsigned result) {
  Value yielded = cluster.getBody().front().getTerminator()->getOperand(result);
  if (!yielded.getDefiningOp())
    return {};
  auto places = cluster->getAttrOfType<ArrayAttr>(resultPlaces);
  return places ? cast<PlaceAttr>(places[result]) : placeOf(cluster);
}

PlaceAttr sched::placeOfResult(OpResult result) {
  auto cluster = dyn_cast<ClusterOp>(result.getOwner());
  PlaceAttr inside = cluster ? computedAt(cluster, result.getResultNumber()) : PlaceAttr();
  bool isKnown = inside && (inside.getPhase() == TrainingPhase::Backward || !inside.getModule().empty());
  return isKnown ? inside : placeOf(result.getOwner());
}

void sched::setResultPlaces(ClusterOp cluster, ArrayRef<PlaceAttr> places) {
  PlaceAttr own = placeOf(cluster);
  if (!own || llvm::all_of(places, [&](PlaceAttr place) { return !place || place == own; }))
    return;
  SmallVector<Attribute> all;
  for (PlaceAttr place : places)
    all.push_back(place ? place : own);
  cluster->setAttr(resultPlaces, ArrayAttr::get(cluster.getContext(), all));
}
