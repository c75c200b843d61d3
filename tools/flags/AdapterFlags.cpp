#include "tools/flags/AdapterFlags.h"
#include "lib/Support/Error.h"
#include "runtime/format/AdapterFolder.h"
#include "tools/flags/Flags.h"

namespace kedge::tool {

static std::string adapterFolder(const std::string &folder) {
  rt::AdapterFolder::open(folder);
  return folder;
}

void addAdapterOptions(CLI::App &command, pipelines::AdapterOptions &o) {
  Flags flags(command, "Adapters and few bits");
  flags.pattern("--lora", o.insert.weights,
                "REGEX: low-rank adapters on these weights of MatMul, Gemm and Conv, and on tables of "
                "embeddings; everything else is "
                "frozen, except what --train names");
  flags.number("--lora-rank", o.insert.rank, {1, 1e6}, "rank of the adapters")->capture_default_str();
  flags
      .number("--lora-alpha", o.insert.alpha, {0, 1e12, rt::RangeEnds::Above},
              "the adapters' scale is alpha / rank")
      ->capture_default_str();
  flags
      .number("--lora-dropout", o.insert.dropout, {0, 1},
              "share of an adapter's input that is dropped in training")
      ->capture_default_str();
  flags.word("--lora-scaling", o.insert.scaling, "standard: alpha / rank; rslora: alpha / sqrt(rank)")
      ->capture_default_str();
  flags
      .word("--lora-init", o.insert.init,
            "first values of A: kaiming (uniform, by the input's size) or gaussian (deviation 1 / "
            "rank), where B begins at zero; pissa, olora: A and B begin as a part of the weight, which keeps "
            "the rest")
      ->capture_default_str();
  flags.add("--lora-dora", o.insert.magnitude,
            "DoRA: the norm of each output's weights is a parameter of its own");
  flags.parsedList("--lora-rank-pattern", o.insert.rankPattern, adapters::NumberRule::parse,
                   "REGEX=N: rank of adapters of these names, in the place of --lora-rank");
  flags.parsedList("--lora-alpha-pattern", o.insert.alphaPattern, adapters::NumberRule::parse,
                   "REGEX=X: the same for --lora-alpha");
  flags.pattern(
      "--ia3", o.scales.weights,
      "REGEX: IA3 on these weights of MatMul and Gemm: each output is multiplied by a number that trains; "
      "everything else is frozen, except what --train names");
  flags.pattern(
      "--ia3-inputs", o.scales.inputs,
      "REGEX: those of them whose inputs are multiplied in the place of outputs (feed-forward modules)");
  flags.parsedList(
      "--train-tokens", o.tokens.tokens, adapters::TokenRule::parse,
      "REGEX=ROW,FIRST-LAST,...: these rows of tables of embeddings train; everything else is frozen, except "
      "adapters and what --train names");
  flags.parsed("--adapter", o.insert.folder, adapterFolder,
               "DIR: structure and first values of adapters, from a folder as peft saves it");
  flags.parsedList("--quantize", o.quantize.weights, adapters::QuantizeRule::parse,
                   "REGEX=nf4|fp4|int8: keep these frozen weights in few bits");
  flags.add("--double-quantize", o.quantize.doubleQuantize,
            "keep the scales of nf4's and fp4's blocks in 8 bits, too");
}

void checkAdapterOptions(const CLI::App &command, const pipelines::AdapterOptions &o) {
  if (!o.insert.weights.empty() && !o.insert.folder.empty())
    fail("--lora '{}' with --adapter {}: the folder says which weights have adapters; give one of them",
         o.insert.weights, o.insert.folder);
  for (const auto &[given, flag] :
       {std::pair(!o.scales.weights.empty(), "--ia3"), std::pair(!o.tokens.tokens.empty(), "--train-tokens")})
    if (given && !o.insert.folder.empty())
      fail("{} with --adapter {}: the folder says what trains; give one of them", flag, o.insert.folder);
  if (!o.scales.weights.empty() && (!o.insert.weights.empty() || !o.tokens.tokens.empty()))
    fail("--ia3 with {} is not available yet: peft's folders hold one method; give one of them",
         o.insert.weights.empty() ? "--train-tokens" : "--lora");
  if (!o.scales.inputs.empty() && o.scales.weights.empty())
    fail("--ia3-inputs needs --ia3 REGEX, which names all weights with scales");
  if (o.quantize.doubleQuantize && o.quantize.weights.empty())
    fail("--double-quantize needs --quantize REGEX=nf4|fp4");
  for (const CLI::Option *option : command.get_options())
    if (const std::string name = option->get_name();
        option->count() > 0 && name.rfind("--lora-", 0) == 0 && o.insert.weights.empty())
      fail("{} needs --lora REGEX, whose adapters it describes{}", name,
           o.insert.folder.empty() ? "" : fmt::format("; leave it out: {} has its own", o.insert.folder));
}

} // namespace kedge::tool
