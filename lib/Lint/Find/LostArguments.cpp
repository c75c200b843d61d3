#include "lib/Lint/Find/LostArguments.h"

namespace kedge::lint {
using Kind = LostArgument::Kind;

namespace {

constexpr const char
    *kPoolFile = "the file's AveragePool divides by the size of the window",
    *kPoolRemedy = "leave it out, and multiply by the size of the window over the divisor",
    *kFactorFile = "the file's Resize steps by the quotient of the sizes",
    *kFactorRemedy = "give the size of the result in place of scale_factor, or recompute_scale_factor=True",
    *kCornersFile = "the file's Resize places the antialias filter by other coordinates",
    *kCornersRemedy = "resize with align_corners=False, or without antialias";

bool isPlain(const model::Node &resize) { return !resize.attrBool("antialias", false); }
bool hasFactors(const model::Node &resize) { return resize.hasInput(2); }
bool drawsOnce(const model::Node &multinomial) { return multinomial.attrInt("sample_size", 1) == 1; }
bool reduces(const model::Node &scatter) { return scatter.attrString("reduction", "none") != "none"; }

LostArgument factor(const char *call, size_t place, const char *name, size_t dimension) {
  return {Kind::Factor,
          call,
          "Resize",
          place,
          name,
          "None",
          "None",
          kFactorFile,
          kFactorRemedy,
          dimension,
          *call == '_' ? isPlain : hasFactors};
}

} // namespace

const std::vector<LostArgument> &lostArguments() {
  static const std::vector<LostArgument> rows = {
      {Kind::Value, "cross_entropy_loss", "SoftmaxCrossEntropyLoss", 5, "label_smoothing", "0.0", "0.0",
       "the file's SoftmaxCrossEntropyLoss does not smooth",
       "export the model without its loss, and compile with --loss cross-entropy --label-smoothing"},
      {Kind::Value, "avg_pool2d", "AveragePool", 6, "divisor_override", "None", "None", kPoolFile,
       kPoolRemedy},
      {Kind::Value, "avg_pool3d", "AveragePool", 6, "divisor_override", "None", "None", kPoolFile,
       kPoolRemedy},
      {Kind::Value, "scatter_reduce", "ScatterElements", 4, "reduce", "sum", "sum prod amax amin",
       "the file's ScatterElements keeps one of the values of a place",
       "scatter the sums, and divide by sums of ones scattered to the same places", 0, reduces},
      {Kind::Value, "multinomial", "Multinomial", 2, "replacement", "False", "True",
       "the file's Multinomial draws with replacement", "draw with replacement=True", 0, drawsOnce},
      {Kind::Value, "embedding_bag", "Gather", 3, "scale_grad_by_freq", "False", "False",
       "nothing in the file divides gradients of rows by how often they are looked up",
       "export with scale_grad_by_freq=False"},
      {Kind::Value, "_embedding_bag", "Gather", 3, "scale_grad_by_freq", "False", "False",
       "nothing in the file divides gradients of rows by how often they are looked up",
       "export with scale_grad_by_freq=False"},
      {Kind::Value, "_upsample_bilinear2d_aa", "Resize", 2, "align_corners", "False", "False", kCornersFile,
       kCornersRemedy, 0, isPlain},
      {Kind::Value, "_upsample_bicubic2d_aa", "Resize", 2, "align_corners", "False", "False", kCornersFile,
       kCornersRemedy, 0, isPlain},
      factor("_upsample_bilinear2d_aa", 3, "scales_h", 0),
      factor("_upsample_bilinear2d_aa", 4, "scales_w", 1),
      factor("_upsample_bicubic2d_aa", 3, "scales_h", 0),
      factor("_upsample_bicubic2d_aa", 4, "scales_w", 1),
      factor("upsample_bilinear2d.default", 3, "scales_h", 0),
      factor("upsample_bilinear2d.default", 4, "scales_w", 1),
      factor("upsample_bicubic2d.default", 3, "scales_h", 0),
      factor("upsample_bicubic2d.default", 4, "scales_w", 1),
      factor("upsample_linear1d.default", 3, "scales", 0),
      factor("upsample_trilinear3d.default", 3, "scales_d", 0),
      factor("upsample_trilinear3d.default", 4, "scales_h", 1),
      factor("upsample_trilinear3d.default", 5, "scales_w", 2),
  };
  return rows;
}

} // namespace kedge::lint
