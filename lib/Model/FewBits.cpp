// Matrices in few bits: which initializers are their codes, scales and zero points.
#include "lib/Model/NarrowTypes.h"
#include "lib/Model/Specialize.h"
#include <algorithm>
#include <array>

namespace kedge::model {
namespace {

/// Smaller ones are better seen by whoever folds constants.
constexpr int64_t kLeast = 1024;

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
        markOther(node);
  }

  void markOther(const Node &node) {
    for (size_t k : {1, 2})
      if (Tensor *part = tensor(node, k); part && part->storage != Tensor::Storage::Encoded)
        part->fewBits = FewBits{FewBits::Part::Other, node.input(1), ElementType::UInt8, {}};
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
    const FewBits::Part kinds[] = {FewBits::Part::Codes, FewBits::Part::Scales, FewBits::Part::ZeroPoints};
    const std::array<Tensor *, 3> parts = {codes, scales, points};
    for (size_t k = 0; k < parts.size(); ++k) // a part of two matrices has no name of its own
      if (parts[k] && parts[k]->fewBits && *parts[k]->fewBits != markOf(kinds[k], *codes, node))
        return;
    for (size_t k = 0; k < parts.size(); ++k)
      if (parts[k])
        parts[k]->fewBits = markOf(kinds[k], *codes, node);
  }

  static FewBits markOf(FewBits::Part part, const Tensor &codes, const Node &node) {
    return {part, codes.name, codes.dtype, codes.dims, node.attrInt(zeroPointKey, 0)};
  }
};

} // namespace

void markFewBits(Model &model) { Marking{model}.run(); }

} // namespace kedge::model
