#include "kedge/Dialect/Dist/CollectiveCall.h"

using namespace mlir;

namespace kedge::dist {

CollectiveCall collectiveCallOf(DictionaryAttr attrs) {
  CollectiveCall call;
  if (!attrs)
    return call;
  if (auto axis = attrs.getAs<StringAttr>("axis"))
    call.axis = axis.getValue();
  if (auto ranks = attrs.getAs<IntegerAttr>("ranks"))
    call.ranks = ranks.getInt();
  if (auto peer = attrs.getAs<IntegerAttr>("peer"))
    call.peer = peer.getInt();
  return call;
}

} // namespace kedge::dist
