#include "runtime/program/OtherFlags.h"
#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace kedge::rt {
namespace {

constexpr OtherFlag kOthers[] = {
    {"batch-size", "shape", "the first size of --shape INPUT=8x128"},
    {"batch", "shape", "the first size of --shape INPUT=8x128"},
    {"micro-batch-size", "shape", "the first size of --shape INPUT=8x128"},
    {"per-device-train-batch-size", "shape", "the first size of --shape INPUT=8x128"},
    {"seq-length", "shape", "the second size of --shape INPUT=8x128"},
    {"max-seq-length", "shape", "the second size of --shape INPUT=8x128"},
    {"input-shape", "shape", "--shape INPUT=8x128"},
    {"shapes", "shape", "--shape INPUT=8x128"},
    {"learning-rate", "lr", "--lr X"},
    {"epoch", "epochs", "--epochs N"},
    {"num-epochs", "epochs", "--epochs N"},
    {"num-train-epochs", "epochs", "--epochs N"},
    {"max-epochs", "epochs", "--epochs N"},
    {"max-steps", "steps", "--steps N"},
    {"num-steps", "steps", "--steps N"},
    {"iterations", "steps", "--steps N"},
    {"max-iters", "steps", "--steps N"},
    {"train-iters", "steps", "--steps N"},
    {"warmup-steps", "warmup", "--warmup N"},
    {"lr-scheduler", "schedule", "--schedule cosine"},
    {"lr-scheduler-type", "schedule", "--schedule cosine"},
    {"scheduler", "schedule", "--schedule cosine"},
    {"wd", "weight-decay", "--weight-decay X"},
    {"optim", "optimizer", "--optimizer adamw"},
    {"criterion", "loss", "--loss cross-entropy"},
    {"objective", "loss", "--loss cross-entropy"},
    {"max-grad-norm", "clip-norm", "--clip-norm X"},
    {"clip-grad-norm", "clip-norm", "--clip-norm X"},
    {"clip-grad", "clip-norm", "--clip-norm X"},
    {"gradient-clipping", "clip-norm", "--clip-norm X"},
    {"gradient-clip-val", "clip-norm", "--clip-norm X"},
    {"gradient-accumulation-steps", "accumulate", "--accumulate N"},
    {"grad-accum", "accumulate", "--accumulate N"},
    {"accumulate-grad-batches", "accumulate", "--accumulate N"},
    {"gradient-checkpointing", "recompute", "--recompute full, or --memory-budget BYTES"},
    {"activation-checkpointing", "recompute", "--recompute full, or --memory-budget BYTES"},
    {"amp", "precision", "--precision bf16, or fp16"},
    {"bf16", "precision", "--precision bf16"},
    {"fp16", "precision", "--precision fp16"},
    {"dtype", "precision", "--precision bf16"},
    {"mixed-precision", "precision", "--precision bf16"},
    {"label-smoothing-factor", "label-smoothing", "--label-smoothing X"},
    {"fsdp", "zero", "--zero 3 with --ranks N"},
    {"zero-stage", "zero", "--zero 3 with --ranks N"},
    {"world-size", "ranks", "--ranks N"},
    {"num-gpus", "ranks", "--ranks N"},
    {"nproc-per-node", "ranks", "--ranks N, and mpirun -n N or torchrun starts the program"},
    {"tensor-parallel-size", "tensor", "--tensor N"},
    {"tensor-model-parallel-size", "tensor", "--tensor N"},
    {"pipeline-parallel-size", "pipeline", "--pipeline N"},
    {"pipeline-model-parallel-size", "pipeline", "--pipeline N"},
    {"load-in-4bit", "quantize", "--quantize REGEX=nf4 with --lora REGEX"},
    {"target-modules", "lora", "--lora REGEX"},
    {"lora-r", "lora-rank", "--lora-rank N"},
    {"train-data", "data", "--data INPUT=FILE.npy"},
    {"dataset", "data", "--data INPUT=FILE.npy"},
    {"val-data", "eval-data", "--eval-data INPUT=FILE.npy"},
    {"validation-data", "eval-data", "--eval-data INPUT=FILE.npy"},
    {"eval-steps", "eval-every", "--eval-every N"},
    {"save-steps", "checkpoint-every", "--checkpoint-every N"},
    {"save-every", "checkpoint-every", "--checkpoint-every N"},
    {"save-total-limit", "keep", "--keep N"},
    {"resume-from-checkpoint", "resume", "--resume [DIR]"},
    {"early-stopping-patience", "stop-after", "--stop-after N with --eval-every N"},
    {"patience", "stop-after", "--stop-after N with --eval-every N"},
    {"num-threads", "threads", "--threads N"},
    {"num-workers", "threads", "--threads N; data files are mapped, and need no workers"},
    {"output", "o", "-o PROGRAM"},
    {"output-dir", "o", "-o PROGRAM"},
    {"out", "o", "-o PROGRAM"}};

constexpr std::string_view kCompilers[] = {"shape",
                                           "loss",
                                           "optimizer",
                                           "precision",
                                           "clip-norm",
                                           "accumulate",
                                           "train",
                                           "train-only",
                                           "freeze",
                                           "train-mode",
                                           "momentum",
                                           "moments",
                                           "label-smoothing",
                                           "memory-budget",
                                           "recompute",
                                           "offload",
                                           "ranks",
                                           "zero",
                                           "tensor",
                                           "pipeline",
                                           "mesh",
                                           "lora",
                                           "lora-rank",
                                           "quantize",
                                           "ema",
                                           "target",
                                           "cpu",
                                           "embed-weights",
                                           "labels",
                                           "logits",
                                           "auto"};

} // namespace

std::string dashed(std::string_view name) { return (name.size() == 1 ? "-" : "--") + std::string(name); }

const OtherFlag *otherFlag(const std::string &flag) {
  std::string name;
  for (const char c : flag.substr(std::min(flag.find_first_not_of('-'), flag.size())))
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto *found = std::find_if(std::begin(kOthers), std::end(kOthers),
                                   [&](const OtherFlag &other) { return name == other.name; });
  return found == std::end(kOthers) ? nullptr : found;
}

bool isCompilers(const std::string &flag) {
  return std::any_of(std::begin(kCompilers), std::end(kCompilers),
                     [&](std::string_view name) { return dashed(name) == flag; });
}

} // namespace kedge::rt
