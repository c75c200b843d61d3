#include "driver/deepspeed/KeysWithoutEffect.h"
#include <algorithm>

namespace kedge::driver {
namespace {
using Kind = DeepSpeedKey::Kind;

constexpr const char *kOneArena = "every byte has its place in one arena at compile time",
                     *kPlannedCopies = "copies are planned at compile time";

constexpr DeepSpeedKey kKeys[] = {
    {"zero_optimization.overlap_comm", Kind::Flag,
     "collectives always run at the same time as what computes, as far as the order of the step allows"},
    {"zero_optimization.contiguous_gradients", Kind::Flag, kOneArena},
    {"zero_optimization.reduce_scatter", Kind::Flag, "gradients are always reduced by a reduce-scatter"},
    {"zero_optimization.allgather_partitions", Kind::Flag, "parts are always gathered by an all-gather"},
    {"zero_optimization.sub_group_size", Kind::Count,
     "each parameter is updated by itself, as soon as its gradient is final"},
    {"zero_optimization.stage3_max_live_parameters", Kind::Count,
     "--memory-budget decides what gathered parameters stay"},
    {"zero_optimization.stage3_max_reuse_distance", Kind::Count,
     "--memory-budget decides what gathered parameters stay"},
    {"zero_optimization.stage3_prefetch_bucket_size", Kind::Count,
     "gathers start as early as memory allows, at compile time"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", Kind::Flag, "exports are always whole"},
    {"zero_optimization.round_robin_gradients", Kind::Flag, kOneArena},
    {"zero_optimization.ignore_unused_parameters", Kind::Flag,
     "unused parameters are known at compile time, and lint tells them"},
    {"zero_optimization.elastic_checkpoint", Kind::Flag, "checkpoints fit any number of ranks"},
    {"zero_optimization.load_from_fp32_weights", Kind::Flag, "masters are what the model file holds"},
    {"zero_optimization.offload_*.pin_memory", Kind::Flag,
     "the host arena is pinned wherever the target copies from it"},
    {"zero_optimization.offload_*.buffer_count", Kind::Count, kPlannedCopies},
    {"zero_optimization.offload_*.buffer_size", Kind::Count, kPlannedCopies},
    {"zero_optimization.offload_*.max_in_cpu", Kind::Count, kPlannedCopies},
    {"zero_optimization.offload_*.pipeline", Kind::Flag, kPlannedCopies},
    {"zero_optimization.offload_*.pipeline_read", Kind::Flag, kPlannedCopies},
    {"zero_optimization.offload_*.pipeline_write", Kind::Flag, kPlannedCopies},
    {"zero_optimization.offload_*.fast_init", Kind::Flag, kPlannedCopies},
    {"zero_optimization.offload_*.nvme_path", Kind::Word, "it is of the device \"nvme\""},
    {"activation_checkpointing.partition_activations", Kind::Flag,
     "activations are of a rank's own rows: no other rank has them too"},
    {"activation_checkpointing.contiguous_memory_optimization", Kind::Flag, kOneArena},
    {"activation_checkpointing.synchronize_checkpoint_boundary", Kind::Flag,
     "the order of the step is fixed at compile time"},
    {"activation_checkpointing.profile", Kind::Flag, "the program's --profile shows what is computed again"},
    {"wall_clock_breakdown", Kind::Flag, "the program's --profile and --memory-report tell times and bytes"},
    {"dump_state", Kind::Flag, "the program's --profile and --memory-report tell times and bytes"},
    {"memory_breakdown", Kind::Flag, "the program's --profile and --memory-report tell times and bytes"},
    {"steps_per_print", Kind::Count, "the program's --log has every step"},
    {"tensorboard", Kind::Object, "the program's --log and --profile tell what happens"},
    {"wandb", Kind::Object, "the program's --log and --profile tell what happens"},
    {"csv_monitor", Kind::Object, "the program's --log and --profile tell what happens"},
    {"comms_logger", Kind::Object, "the program's --log and --profile tell what happens"},
    {"flops_profiler", Kind::Object, "the program's --log and --profile tell what happens"},
    {"prescale_gradients", Kind::Flag, "gradients are summed in fp32 and divided once"},
    {"gradient_predivide_factor", Kind::Number, "gradients are summed in fp32 and divided once"},
    {"sparse_gradients", Kind::Flag, "all gradients are dense"},
    {"disable_allgather", Kind::Flag, "stage 0 reduces by a reduce-scatter and an all-gather"},
    {"zero_allow_untested_optimizer", Kind::Flag, "every optimizer works in every stage"},
    {"zero_force_ds_cpu_optimizer", Kind::Flag, "every optimizer works in every stage"},
    {"dataloader_drop_last", Kind::Flag, "the program's rows wrap around the end of the data"},
    {"aio", Kind::Object, "nothing goes to disks within a step"},
    {"bf16.immediate_grad_update", Kind::Flag, "micro-batches are always summed in fp32 as they come"},
    {"fp16.auto_cast", Kind::Flag, "float inputs are always rounded as they enter the step"},
    {"optimizer.legacy_fusion", Kind::Flag, "updates are fused at compile time"},
    {"optimizer.params.fused", Kind::Flag, "updates are fused at compile time"}};
} // namespace

const DeepSpeedKey *keyWithoutEffect(std::string path) {
  for (const std::string_view section : {"offload_optimizer.", "offload_param."})
    if (const size_t at = path.find(section); at != std::string::npos)
      path.replace(at, section.size(), "offload_*."); // both have the same keys
  const auto *found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const DeepSpeedKey &key) { return key.path == path; });
  return found == std::end(kKeys) ? nullptr : found;
}

} // namespace kedge::driver
