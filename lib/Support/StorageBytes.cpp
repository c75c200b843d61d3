#include "kedge/Support/StorageBytes.h"
#include "lib/Support/TensorLimits.h"
#include <algorithm>

int64_t kedge::bytesOf(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  int64_t width = std::max<int64_t>(8, tensor.getElementTypeBitWidth());
  int64_t count = saturatedCount(tensor.getShape()); // a dynamic size counts as too many
  return count > kMostElements ? INT64_MAX : count * width / 8;
}
