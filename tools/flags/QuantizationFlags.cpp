#include "tools/flags/QuantizationFlags.h"
#include "lib/Support/Error.h"
#include "tools/flags/Flags.h"

namespace kedge::tool {

void addQuantizationOptions(CLI::App &command, pipelines::AdapterOptions &o) {
  Flags flags(command, "Quantisation-aware training");
  flags.parsedList(
      "--qat", o.fakeQuantize.weights, adapters::FakeQuantizeRule::parse,
      "REGEX=int8|uint8|int4: these weights of MatMul, Gemm and Conv, and what they are multiplied "
      "with, are rounded to integers while they train");
  flags
      .word("--qat-scales", o.fakeQuantize.scales,
            "of the weights: one for each tensor, channel (output) or block of inputs")
      ->capture_default_str();
  flags.number("--qat-block", o.fakeQuantize.block, {2, 1 << 20}, "inputs of a block")->capture_default_str();
  flags
      .word("--qat-activations", o.fakeQuantize.activations,
            "what the products' inputs are rounded to: uint8 (with a zero point), int8 or none")
      ->capture_default_str();
  flags
      .number("--qat-averaging", o.fakeQuantize.averaging, {0, 1, rt::RangeEnds::Above},
              "how far the range of an input moves to that of each batch")
      ->capture_default_str();
  flags
      .number("--qat-observe", o.fakeQuantize.observe, {0, 1e15},
              "first steps in which ranges are observed and nothing is rounded")
      ->capture_default_str();
  flags
      .number("--qat-freeze", o.fakeQuantize.freeze, {0, 1e15},
              "step from which on the ranges stay as they are; 0: never")
      ->capture_default_str();
  flags
      .word("--qat-batchnorm", o.norms,
            "after a convolution: folded into its weight before that is rounded, as the deployed model has "
            "it, or "
            "apart")
      ->capture_default_str();
  flags
      .word("--qat-form", o.integerForm,
            "what --export-quantized writes for int4 weights in blocks: qdq (QuantizeLinear, "
            "DequantizeLinear), or "
            "matmulnbits, ONNX Runtime's own operator")
      ->capture_default_str();
  flags.add("--qat-sums", o.fakeQuantize.sums,
            "residual sums read rounded values, too, so that convolutions before them give integers");
  flags.add("--qat-learned", o.fakeQuantize.learned,
            "the scales of inputs are parameters (LSQ); the ranges observed give the first ones");
}

static void checkCombinations(const driver::CompileOptions &o) {
  const auto refuse = [](const std::string &other) { fail("--qat with {} is not available yet", other); };
  if (o.model.adapters.inserts())
    refuse("adapters (--lora, --adapter)");
  if (!o.model.adapters.quantize.weights.empty())
    refuse("--quantize");
  if (o.isFloat8())
    refuse("--precision fp8");
  if (o.sameBits > 0)
    refuse("--same-bits");
  if (o.joinsMicroBatches())
    refuse("--batchnorm exact");
  const rt::Mesh mesh = o.model.meshOfRanks();
  for (const char *axis : {rt::Mesh::kTensor, rt::Mesh::kPipeline})
    if (mesh.sizeOf(axis) > 1)
      refuse(fmt::format("the axis '{}' of a mesh", axis));
}

void checkQuantizationOptions(const CLI::App &command, const driver::CompileOptions &o) {
  const adapters::InsertFakeQuantizationOptions &qat = o.model.adapters.fakeQuantize;
  const auto given = [&](const char *flag) { return command.get_option(flag)->count() > 0; };
  for (const char *flag :
       {"--qat-scales", "--qat-block", "--qat-activations", "--qat-averaging", "--qat-observe",
        "--qat-freeze", "--qat-batchnorm", "--qat-sums", "--qat-learned", "--qat-form"})
    if (given(flag) && qat.weights.empty())
      fail("{} needs --qat REGEX=int8|uint8|int4, which it describes", flag);
  if (given("--qat-block") && qat.scales != adapters::Granularity::Block)
    fail("--qat-block would have no effect: give --qat-scales block with it");
  for (const char *flag : {"--qat-averaging", "--qat-freeze"})
    if (given(flag) && qat.activations == adapters::Activations::None)
      fail("{} would have no effect: --qat-activations none follows no ranges; leave it out", flag);
  if (o.model.adapters.integerForm == adapters::IntegerForm::MatMulNBits &&
      qat.scales != adapters::Granularity::Block)
    fail("--qat-form matmulnbits needs --qat-scales block: its weights are int4 in blocks");
  if (qat.activations == adapters::Activations::None && (qat.sums || qat.learned))
    fail("{} would have no effect: --qat-activations none rounds no inputs; leave it out",
         qat.sums ? "--qat-sums" : "--qat-learned");
  if (qat.learned && given("--qat-freeze"))
    fail("--qat-freeze cannot be given with --qat-learned: ranges stay once the scales are learned");
  if (qat.learned && qat.sums)
    fail("--qat-learned with --qat-sums is not available yet");
  if (!qat.weights.empty())
    checkCombinations(o);
}

} // namespace kedge::tool
