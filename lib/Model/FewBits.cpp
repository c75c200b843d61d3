// Matrices in few bits: which initializers are their codes, scales and zero points.
#include "lib/Model/NarrowTypes.h"
#include "lib/Model/Specialize.h"
#include <algorithm>

namespace kedge::model {
namespace {

/// Smaller ones are better seen by whoever folds constants.
constexpr int64_t kLeast = 1024;
constexpr int64_t kMost = int64_t(1) << 48; ///< elements of a matrix that a file can have

struct Marking {
  Model &model;
  std::map<std::string, Tensor *> tensors = {};

  void run() {
    for (Tensor &tensor : model.graph.initializers)
      tensors[tensor.name] = &tensor;
    for (const Node &node : model.graph.nodes)
      if (node.is("DequantizeLinear"))
        mark(node);
      else if (node.is("MatMulBnb4", "com.microsoft"))
        markTable(node);
  }

  /// Codes of bitsandbytes: [N, K] flattened, two in a byte.
  void markTable(const Node &node) {
    Tensor *codes = tensor(node, 1), *scales = tensor(node, 2);
    FewBits mark{FewBits::Part::Other, node.input(1), ElementType::UInt8, {}};
    if (!isTable(node, codes, scales))
      return markAll({codes, scales}, {mark, mark});
    mark.whole = {node.attrInt("N", 0), node.attrInt("K", 0)};
    mark.table = node.attrInt("quant_type", 1) == 0 ? FewBits::Table::FP4 : FewBits::Table::NF4;
    mark.block = node.attrInt("block_size", 0);
    FewBits ofScales = mark;
    mark.part = FewBits::Part::Codes;
    ofScales.part = FewBits::Part::Scales;
    markAll({codes, scales}, {mark, ofScales});
  }

  static bool isTable(const Node &node, const Tensor *codes, const Tensor *scales) {
    const int64_t n = node.attrInt("N", 0), k = node.attrInt("K", 0), block = node.attrInt("block_size", 0);
    if (!codes || !scales || n < 1 || k < 1 || n > kMost / k || block < 1)
      return false;
    return codes->dtype == ElementType::UInt8 && codes->numElements() == (n * k + 1) / 2 &&
           codes->storage != Tensor::Storage::Encoded && isFloat(scales->dtype) &&
           scales->dtype != ElementType::Double && scales->numElements() == (n * k + block - 1) / block;
  }

  /// All of them or, where one is a part of another matrix, none: it has no name of its own.
  static void markAll(const std::vector<Tensor *> &parts, const std::vector<FewBits> &marks) {
    size_t fresh = 0, same = 0;
    for (size_t k = 0; k < parts.size(); ++k) {
      const bool isFree = !parts[k] || parts[k]->storage == Tensor::Storage::Encoded;
      fresh += isFree || !parts[k]->fewBits;
      same += isFree || parts[k]->fewBits == marks[k];
    }
    if (fresh != parts.size() && same != parts.size())
      return;
    for (size_t k = 0; k < parts.size(); ++k)
      if (parts[k] && parts[k]->storage != Tensor::Storage::Encoded)
        parts[k]->fewBits = marks[k];
  }

  Tensor *tensor(const Node &node, size_t k) const {
    const auto found = node.hasInput(k) ? tensors.find(node.input(k)) : tensors.end();
    return found == tensors.end() ? nullptr : found->second;
  }

  /// Whole bytes that stay where they lie; of 8 bits only where the compiler made the node: QDQ files of
  /// int8 train their numbers.
  static bool holdsCodes(const Node &node, const Tensor &codes) {
    const bool isKnown = codes.dtype == ElementType::UInt4 || codes.dtype == ElementType::Int4 ||
                         codes.dtype == ElementType::UInt2 ||
                         (codes.dtype == ElementType::UInt8 && node.place == 0);
    return isKnown && codes.dims.size() == 2 && codes.numElements() >= kLeast &&
           codes.storage != Tensor::Storage::Encoded;
  }

  /// Zero points lie as scales do, or with what fills the last byte of a row.
  static bool fit(const Node &node, const Tensor &codes, const Tensor &scales, const Tensor *points) {
    const bool isPadded = node.attrInt(paddedPointsKey, 0) != 0;
    return isFloat(scales.dtype) && scales.dtype != ElementType::Double &&
           (!points || (points->dtype == codes.dtype && points->storage != Tensor::Storage::Encoded &&
                        (isPadded || points->dims == scales.dims)));
  }

  void mark(const Node &node) {
    Tensor *codes = tensor(node, 0), *scales = tensor(node, 1), *points = tensor(node, 2);
    const int64_t given = node.attrInt("axis", 1), axis = given < 0 ? given + 2 : given;
    const int64_t block = node.attrInt("block_size", 0);
    if (!codes || !scales || (node.hasInput(2) && !points) || axis < 0 || axis > 1 || block < 1 ||
        node.attrInt("output_dtype", 0) != 0 || !holdsCodes(node, *codes) ||
        !fit(node, *codes, *scales, points))
      return;
    std::vector<int64_t> blocks = codes->dims;
    if (blocks[axis] % block != 0)
      return;
    blocks[axis] /= block;
    if (scales->dims != blocks)
      return;
    using Part = FewBits::Part;
    markAll({codes, scales, points}, {markOf(Part::Codes, *codes, node), markOf(Part::Scales, *codes, node),
                                      markOf(Part::ZeroPoints, *codes, node)});
  }

  static FewBits markOf(FewBits::Part part, const Tensor &codes, const Node &node) {
    return {part, codes.name, codes.dtype, codes.dims, node.attrInt(zeroPointKey, 0)};
  }
};

} // namespace

void markFewBits(Model &model) { Marking{model}.run(); }

} // namespace kedge::model
