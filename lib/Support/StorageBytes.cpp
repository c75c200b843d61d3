#include "kedge/Support/StorageBytes.h"
#include <algorithm>

int64_t kedge::bytesOf(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  int64_t width = std::max<int64_t>(8, tensor.getElementTypeBitWidth());
  return tensor.getNumElements() * width / 8;
}
