// DeepSpeed configurations: a file that --deepspeed-config refuses ends in an error that names it.
#include "driver/deepspeed/DeepSpeedConfig.h"
#include "lib/Support/Error.h"
#include "test/fuzz/JsonEdits.h"
#include "test/support/TempFolder.h"
#include <cstdint>
#include <fstream>
#include <stdexcept>

using namespace kedge::driver;

namespace {

const char *const kTexts[] = {
    R"({"train_batch_size":32,"train_micro_batch_size_per_gpu":4,"gradient_accumulation_steps":2,"gradient_clipping":1.0,
"optimizer":{"type":"AdamW","params":{"lr":3e-4,"betas":[0.9,0.999],"eps":1e-8,"weight_decay":0.01}},
"scheduler":{"type":"WarmupDecayLR","params":{"warmup_min_lr":0,"warmup_max_lr":3e-4,"warmup_num_steps":100,"total_num_steps":1000}},
"zero_optimization":{"stage":3,"reduce_bucket_size":5e8,"overlap_comm":true,"offload_optimizer":{"device":"cpu","pin_memory":true}}})",
    R"({"fp16":{"enabled":true,"loss_scale":0,"initial_scale_power":16,"loss_scale_window":1000,"hysteresis":2,"min_loss_scale":1},
"optimizer":{"type":"SGD","params":{"lr":0.1,"momentum":0.9,"nesterov":true}},"zero_optimization":{"stage":1}})",
    R"({"bf16":{"enabled":"auto"},"train_batch_size":"auto","scheduler":{"type":"WarmupCosineLR","params":{"total_num_steps":50,
"warmup_min_ratio":0.1,"cos_min_ratio":0.01,"warmup_type":"linear"}},"activation_checkpointing":{"partition_activations":true},
"steps_per_print":10,"wall_clock_breakdown":false})"};

/// The first byte: which of these texts is edited; larger ones: the text itself comes.
std::string textOf(const uint8_t *data, size_t size) {
  if (size != 0 && data[0] < std::size(kTexts))
    return kedge::test::editedJson(kTexts[data[0]], data + 1, size - 1);
  return {reinterpret_cast<const char *>(data), size};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const kedge::test::TempFolder folder;
  static const std::string path = folder.path("ds.json").string();
  std::ofstream(path, std::ios::binary) << textOf(data, size);
  try {
    const DeepSpeedConfig config(path, {});
  } catch (const kedge::Error &error) {
    if (std::string_view(error.what()).find(path) == std::string_view::npos)
      throw std::logic_error(std::string("a message without the file: ") + error.what());
  }
  return 0;
}

std::vector<std::vector<uint8_t>> fuzzSeeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (uint8_t which = 0; which < std::size(kTexts); ++which) {
    const std::string text = kTexts[which];
    seeds.emplace_back(text.begin(), text.end());
    for (uint8_t at = 1; at < 64; at += 3)
      seeds.push_back({which, at, at, 0, 0, 0, 0});
  }
  return seeds;
}
