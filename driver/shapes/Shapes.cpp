#include "driver/shapes/Shapes.h"
#include "driver/shapes/Families.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"
#include <fmt/ranges.h>

namespace kedge::driver::shapes {
namespace {

using MakeTransformer = model::Model (*)(const Transformer &);
using MakeFixed = model::Model (*)();

/// A published model: a transformer of these sizes, or one that has no sizes to change.
struct Published {
  const char *name, *about;
  MakeTransformer transformer = nullptr;
  Transformer sizes = {};
  MakeFixed fixed = nullptr;
};

Published gpt(const char *name, const char *about, int64_t layers, int64_t width, int64_t heads,
              int64_t positions = 1024, bool tied = true) {
  return {name, about, gptModel, {layers, width, heads, heads, 4 * width, 50257, positions, tied}};
}

Published bert(const char *name, const char *about, int64_t layers, int64_t width, int64_t heads) {
  return {name, about, bertModel, {layers, width, heads, heads, 4 * width, 30522, 512, false}};
}

Published llama(const char *name, const char *about, const Transformer &sizes) {
  return {name, about, llamaModel, sizes};
}

Published mixture(const char *name, const char *about, const Transformer &sizes) {
  return {name, about, mixtureModel, sizes};
}

const Mixture kMixtral{8, 2}, kQwen3Moe{.experts = 128, .chosen = 8, .headSize = 128, .normsHeads = true},
    kGptOss{.experts = 32, .chosen = 4, .headSize = 64, .hasBiases = true},
    kDeepSeek{.experts = 256,
              .chosen = 8,
              .denseLayers = 3,
              .denseHidden = 18432,
              .sharedHidden = 2048,
              .scoresBySigmoid = true,
              .latent = {1536, 512, 128, 64, 128}};

Published fixed(const char *name, const char *about, MakeFixed make) {
  return {name, about, nullptr, {}, make};
}

/// A stack of square linears, whose state the formulas of ZeRO are counted with.
template <int64_t layers, int64_t width, bool bias = false> model::Model stack() {
  return linearsModel(layers, width, bias);
}

const std::vector<Published> &published() {
  static const std::vector<Published> models{
      gpt("gpt2", "GPT-2 small", 12, 768, 12),
      gpt("gpt2-medium", "GPT-2 medium", 24, 1024, 16),
      gpt("gpt2-large", "GPT-2 large", 36, 1280, 20),
      gpt("gpt2-xl", "GPT-2 XL", 48, 1600, 25),
      gpt("gpt3", "GPT-3, 175B", 96, 12288, 96, 2048),
      gpt("lesson-l", "24 layers of width 2048 and a head of its own", 24, 2048, 32, 1024, false),
      bert("bert-base", "BERT base, with the head of its masked words", 12, 768, 12),
      bert("bert-large", "BERT large, likewise", 24, 1024, 16),
      llama("llama-1b", "Llama 3.2 1B", {16, 2048, 32, 8, 8192, 128256, 0, true}),
      llama("llama-3b", "Llama 3.2 3B", {28, 3072, 24, 8, 8192, 128256, 0, true}),
      llama("llama-7b", "Llama 2 7B", {32, 4096, 32, 32, 11008, 32000, 0, false}),
      llama("llama-8b", "Llama 3.1 8B", {32, 4096, 32, 8, 14336, 128256, 0, false}),
      llama("llama-13b", "Llama 2 13B", {40, 5120, 40, 40, 13824, 32000, 0, false}),
      llama("llama-70b", "Llama 3.1 70B", {80, 8192, 64, 8, 28672, 128256, 0, false}),
      llama("mistral-7b", "Mistral 7B, of full attention", {32, 4096, 32, 8, 14336, 32000, 0, false}),
      mixture("mixtral-8x7b", "Mixtral 8x7B", {32, 4096, 32, 8, 14336, 32000, 0, false, &kMixtral}),
      mixture("qwen3-30b-a3b", "Qwen3 30B-A3B: 8 of 128 experts",
              {48, 2048, 32, 4, 768, 151936, 0, false, &kQwen3Moe}),
      mixture("gpt-oss-20b", "gpt-oss 20B, of full attention without sinks",
              {24, 2880, 64, 8, 2880, 201088, 0, false, &kGptOss}),
      mixture("deepseek-v3", "DeepSeek V3, 671B, without groups of experts and its second head",
              {61, 7168, 128, 128, 2048, 129280, 0, false, &kDeepSeek}),
      fixed("resnet50", "ResNet-50", resnet50Model),
      fixed("unet", "U-Net of five levels", unetModel),
      fixed("1b", "10 square linears", stack<10, 10000>),
      fixed("7b", "70 square linears", stack<70, 10000>),
      fixed("7.5b", "75 square linears, as in ZeRO's Table 1", stack<75, 10000>),
      fixed("128b", "80 square linears, likewise", stack<80, 40000>),
      fixed("1t", "100 square linears, likewise", stack<100, 100000>),
      fixed("linears-48", "48 linears with biases", stack<48, 4096, true>),
      fixed("wide-rows", "elementwise work on rows of 1024", wideRowsModel),
      fixed("wide-parameter", "a product whose weight has 134 MB", wideParameterModel),
  };
  return models;
}

/// Keys and values follow the heads where each head has its own, and widths inside feed-forwards the width
/// where they are a multiple of it, unless these are given.
Transformer changed(const Transformer &from, const ShapeChanges &changes) {
  Transformer to = from;
  to.layers = changes.layers.value_or(from.layers);
  to.width = changes.width.value_or(from.width);
  to.heads = changes.heads.value_or(from.heads);
  to.keyHeads = changes.keyHeads.value_or(from.keyHeads == from.heads ? to.heads : from.keyHeads);
  to.hidden = changes.hidden.value_or(from.hidden % from.width == 0 ? from.hidden / from.width * to.width
                                                                    : from.hidden);
  to.vocabulary = changes.vocabulary.value_or(from.vocabulary);
  to.positions = changes.positions.value_or(from.positions);
  return to;
}

void checkHeads(const Transformer &sizes, bool rotary) {
  const int64_t heads = sizes.heads;
  const bool hasOwnSize = sizes.mixture && (sizes.mixture->headSize || sizes.mixture->latent.keys);
  if (!hasOwnSize && (sizes.width % heads != 0 || (rotary && sizes.width / heads % 2 != 0)))
    fail("--width {} and --heads {}: expected a width that is a multiple of {}", sizes.width, heads,
         rotary ? 2 * heads : heads);
  if (heads % sizes.keyHeads != 0)
    fail("--heads {} and --key-heads {}: expected a number of heads that is a multiple of those of keys and "
         "values",
         heads, sizes.keyHeads);
}

bool isRotary(const Published &model) {
  return model.transformer == llamaModel || model.transformer == mixtureModel;
}

/// Sizes that only some families have.
void refuseOthers(const Published &model, const ShapeChanges &changes) {
  const bool rotary = isRotary(model);
  if (changes.keyHeads && !rotary)
    fail("--key-heads: each head of {} has keys and values of its own", model.name);
  if (changes.positions && rotary)
    fail("--positions: {} has no table of positions", model.name);
  const bool any = changes.layers || changes.width || changes.heads || changes.keyHeads || changes.hidden ||
                   changes.vocabulary || changes.positions;
  if (any && model.fixed)
    fail("{} is made as it is published; only transformers take other sizes", model.name);
}

const Published &find(const std::string &name) {
  std::vector<std::string> names;
  for (const Published &model : published()) {
    if (model.name == name)
      return model;
    names.push_back(model.name);
  }
  const std::string meant = rt::closestName(name, names);
  fail("there are no shapes of '{}'{}; expected one of: {}", name,
       meant.empty() ? "" : fmt::format("; did you mean {}?", meant), fmt::join(names, " "));
}

/// 1234567 as 1,234,567.
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t place = digits.size(); place > 3;)
    digits.insert(place -= 3, ",");
  return digits;
}

} // namespace

model::Model publishedModel(const std::string &name, const ShapeChanges &changes) {
  const Published &found = find(name);
  refuseOthers(found, changes);
  if (found.fixed)
    return found.fixed();
  const Transformer sizes = changed(found.sizes, changes);
  checkHeads(sizes, isRotary(found));
  return found.transformer(sizes);
}

int64_t weightsOf(const model::Model &model) {
  int64_t count = 0;
  for (const model::Tensor &tensor : model.graph.initializers)
    if (tensor.storage == model::Tensor::Storage::External)
      count += tensor.numElements();
  return count;
}

std::string publishedShapes() {
  std::string lines;
  for (const Published &model : published())
    lines += fmt::format("{:16}{:>20}  {}\n", model.name, grouped(weightsOf(publishedModel(model.name, {}))),
                         model.about);
  return lines;
}

} // namespace kedge::driver::shapes
