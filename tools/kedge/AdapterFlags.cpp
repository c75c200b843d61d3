#include "tools/kedge/AdapterFlags.h"
#include "lib/Support/Error.h"

namespace kedge::tool {

void addAdapterOptions(CLI::App &command, driver::AdapterOptions &o) {
  const char *group = "Adapters and few bits";
  command
      .add_option("--lora", o.weights,
                  "REGEX: low-rank adapters on these weights of MatMul, Gemm and Conv; everything else is "
                  "frozen, except what --train names")
      ->group(group);
  command.add_option("--lora-rank", o.rank, "rank of the adapters")->group(group)->capture_default_str();
  command.add_option("--lora-alpha", o.alpha, "the adapters' scale is alpha / rank")
      ->group(group)
      ->capture_default_str();
  command.add_option("--lora-dropout", o.dropout, "share of an adapter's input that is dropped in training")
      ->group(group)
      ->capture_default_str();
  command.add_option("--lora-scaling", o.scaling, "standard: alpha / rank; rslora: alpha / sqrt(rank)")
      ->check(CLI::IsMember({"standard", "rslora"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--lora-init", o.init,
                  "first values of A: kaiming (uniform, by the input's size) or gaussian (deviation 1 / "
                  "rank); B begins at zero")
      ->check(CLI::IsMember({"kaiming", "gaussian"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--adapter", o.folder,
                  "DIR: structure and first values of adapters, from a folder as peft saves it")
      ->group(group);
  command.add_option("--quantize", o.quantize, "REGEX=nf4|fp4|int8: keep these frozen weights in few bits")
      ->group(group)
      ->allow_extra_args(false);
  command
      .add_flag("--double-quantize", o.doubleQuantize,
                "keep the scales of nf4's and fp4's blocks in 8 bits, too")
      ->group(group);
}

void checkAdapterOptions(const CLI::App &command, const driver::AdapterOptions &o) {
  if (!o.weights.empty() && !o.folder.empty())
    fail("--lora '{}' with --adapter {}: the folder says which weights have adapters; give one of them",
         o.weights, o.folder);
  if (o.doubleQuantize && o.quantize.empty())
    fail("--double-quantize needs --quantize REGEX=nf4|fp4");
  for (const CLI::Option *option : command.get_options())
    if (const std::string name = option->get_name();
        option->count() > 0 && name.rfind("--lora-", 0) == 0 && o.weights.empty())
      fail("{} needs --lora REGEX, whose adapters it describes{}", name,
           o.folder.empty() ? "" : fmt::format("; leave it out: {} has its own", o.folder));
}

} // namespace kedge::tool
