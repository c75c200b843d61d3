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
                "REGEX: low-rank adapters on these weights of MatMul, Gemm and Conv; everything else is "
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
            "rank); B begins at zero")
      ->capture_default_str();
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
  if (o.quantize.doubleQuantize && o.quantize.weights.empty())
    fail("--double-quantize needs --quantize REGEX=nf4|fp4");
  for (const CLI::Option *option : command.get_options())
    if (const std::string name = option->get_name();
        option->count() > 0 && name.rfind("--lora-", 0) == 0 && o.insert.weights.empty())
      fail("{} needs --lora REGEX, whose adapters it describes{}", name,
           o.insert.folder.empty() ? "" : fmt::format("; leave it out: {} has its own", o.insert.folder));
}

} // namespace kedge::tool
