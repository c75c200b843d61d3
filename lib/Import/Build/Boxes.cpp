// NonMaxSuppression of boxes that are known at compile time: how many stay decides the shape.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Corners in order.
struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box boxOf(ArrayRef<double> numbers, bool byCentre) {
  if (byCentre) // x, y, width, height
    return {numbers[1] - numbers[3] / 2, numbers[0] - numbers[2] / 2, numbers[1] + numbers[3] / 2,
            numbers[0] + numbers[2] / 2};
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

double overlap(const Box &a, const Box &b) {
  double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
         width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0)
    return 0;
  double common = height * width;
  return common / (a.area() + b.area() - common);
}

struct Suppression {
  int64_t most = 0;
  double overlap = 0;
  std::optional<double> score;
};

/// Places of the boxes that stay, best score first.
Dims kept(ArrayRef<Box> boxes, ArrayRef<double> scores, const Suppression &rule) {
  Dims order = firstDims(boxes.size()), stay;
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (int64_t k : order) {
    if (static_cast<int64_t>(stay.size()) == rule.most)
      break;
    if (rule.score && scores[k] <= *rule.score)
      continue;
    if (llvm::all_of(stay, [&](int64_t other) { return overlap(boxes[k], boxes[other]) <= rule.overlap; }))
      stay.push_back(k);
  }
  return stay;
}

void importNonMaxSuppression(NodeContext &node) {
  Dims shape(shapeOf(node.require(1)));
  if (shape.size() != 3 || shapeOf(node.require(0)) != ArrayRef<int64_t>{shape[0], shape[2], 4})
    node.fail("expected boxes [batch, count, 4] and scores [batch, classes, count], found [{}] and [{}]",
              fmt::join(shapeOf(node.require(0)), " x "), fmt::join(shape, " x "));
  auto numbers = *node.constantFloats(0, "the boxes, which decide the shape,");
  auto scores = *node.constantFloats(1, "the scores, which decide the shape,");
  Suppression rule;
  if (auto most = node.constantInts(2, "max_output_boxes_per_class"))
    rule.most = most->front();
  if (auto limit = node.constantFloats(3, "iou_threshold"))
    rule.overlap = limit->front();
  if (auto limit = node.constantFloats(4, "score_threshold"))
    rule.score = limit->front();
  std::vector<int64_t> rows;
  for (int64_t sample = 0; sample < shape[0]; ++sample) {
    SmallVector<Box> boxes;
    for (int64_t k = 0; k < shape[2]; ++k)
      boxes.push_back(boxOf(ArrayRef<double>(numbers).slice((sample * shape[2] + k) * 4, 4),
                            node.node.attrBool("center_point_box", false)));
    for (int64_t label = 0; label < shape[1]; ++label)
      for (int64_t k : kept(
               boxes, ArrayRef<double>(scores).slice((sample * shape[1] + label) * shape[2], shape[2]), rule))
        rows.insert(rows.end(), {sample, label, k});
  }
  node.setResult(
      0, node.constantTensor(model::Tensor::makeInts("", {static_cast<int64_t>(rows.size() / 3), 3}, rows)));
}
} // namespace

void kedge::importer::registerBoxImporters(NodeImporters &importers) {
  importers.add("NonMaxSuppression", importNonMaxSuppression);
}
