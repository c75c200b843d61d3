// What levels 3 and 4 keep of a collective: the attributes of its op, read here alone.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include <optional>

namespace kedge::dist {

struct CollectiveCall {
  llvm::StringRef axis = dataAxis;
  int64_t ranks = 0;           ///< 0: the call does not say
  std::optional<int64_t> peer; ///< of a transfer between two: the other's place along the axis
};

/// `attrs` may be null.
CollectiveCall collectiveCallOf(mlir::DictionaryAttr attrs);

} // namespace kedge::dist
