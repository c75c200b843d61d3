#include "tools/flags/CompileFlags.h"
#include "driver/SavedIr.h"
#include "driver/program/Algorithms.h"
#include "driver/program/GpuTarget.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "runtime/program/Options.h"
#include "tools/flags/AdapterFlags.h"
#include "tools/flags/AutoFlags.h"
#include "tools/flags/Flags.h"
#include "tools/flags/MeshFlags.h"
#include "tools/flags/OptionEffects.h"
#include "tools/flags/QuantizationFlags.h"
#include <fmt/ranges.h>

namespace kedge::tool {
namespace {

constexpr double kMostSteps = 1e12; // more than a run ever does; sums of them stay whole

/// Words ignore case, as those of other flags do.
Offload offloadOf(const std::string &entry) {
  const size_t end = std::min(entry.find('='), entry.size());
  std::string kind = entry.substr(0, end);
  if (const std::string wrong = rt::wrongWord(kind, wordsOf<OffloadKind>()); !wrong.empty())
    fail("{}", wrong);
  return Offload::parse(kind + entry.substr(end));
}

/// A device or a file of one.
std::string deviceNamed(const std::string &text) {
  analysis::loadDevice(text);
  return text;
}

std::string linkNamed(const std::string &text) {
  analysis::loadDevice(analysis::kWithLinks + text);
  return text;
}

std::string algorithmsIn(const std::string &path) {
  driver::checkAlgorithms(path);
  return path;
}

void addOptimizerOptions(CLI::App &command, CompileOptions &o) {
  Flags flags(command, "Optimizer");
  flags.word("--optimizer", o.update.optimizer, "update rule")->capture_default_str();
  flags.pattern("--muon", o.muon,
                "REGEX: matrices that muon, normuon, soap, galore or apollo updates (default: all of MatMul "
                "and Gemm but embeddings and the "
                "head); AdamW updates the rest");
  flags.number("--momentum", o.run.momentum, {0, 1},
               "momentum of sgd, rmsprop, muon and normuon (default: muon, normuon 0.95, else 0, which needs "
               "no buffer)");
  flags.add("--nesterov", o.update.nesterov, "Nesterov momentum");
  flags.number("--precondition-frequency", o.update.preconditionFrequency, {1, 1e6},
               "N: soap makes its bases new every N updates (default: 10)");
  flags.number("--max-precondition-dim", o.update.maxPreconditionDim, {1, 1e6},
               "N: sides of a matrix that are longer have no basis under soap (default: 10000)");
  flags.number("--shampoo-beta", o.update.shampooBeta, {0, 1, rt::RangeEnds::Below},
               "of soap's mean of products of gradients (default: beta2)");
  flags.number(
      "--proj-rank", o.update.projRank, {1, 1e6},
      "N: galore and apollo keep moments of N numbers along a matrix's shorter side (default: galore 128, "
      "apollo 256)");
  flags.number("--update-proj-gap", o.update.updateProjGap, {1, 1e9},
               "N: galore and apollo project another way every N updates (default: 200)");
  flags.number("--proj-scale", o.update.projScale, {0, 1e6},
               "galore's steps are multiplied by it, apollo's by its root (default: galore 0.25, apollo 1)");
  flags.word("--scale-type", o.update.scaleType, "what apollo has one factor for")->capture_default_str();
  flags.number("--clip-norm", o.update.clipNorm, {0, 1e30}, "largest global gradient norm; 0: no clipping");
  flags
      .word(
          "--moments", o.update.moments,
          "of adamw, adam, lion and sgd's momentum: fp32, bf16, int8 (codes in groups of 32 with an "
          "fp16 scale), or for adamw and adam int4 (torchao's codes in blocks of 128 with an fp32 magnitude)")
      ->capture_default_str();
  flags
      .word(
          "--cautious", o.update.caution,
          "what adamw leaves out: updates (of elements against their gradient) or decay (of elements against "
          "their update)")
      ->capture_default_str();
  flags.number(
      "--ema", o.update.averageDecay, {0, 1, rt::RangeEnds::Below},
      "D: keep a moving average of each trained tensor: D times itself and 1 - D times the new value, "
      "step by step (the program's --eval-ema and --export-ema use it)");
  flags.add("--log-experts", o.countsExperts,
            "the program's log and --tensorboard say how many tokens each expert has, by layer");
  flags.number("--accumulate", o.accumulate, {1, 1e6}, "micro-batches of a step")->capture_default_str();
  flags
      .word("--batchnorm", o.batchNorm,
            "whose statistics BatchNormalization takes in training: of each micro-batch, or exact: of all "
            "micro-batches of a step, as if they were one")
      ->capture_default_str();
  flags.parsedList("--weight-decay-exclude", o.weightDecayExclude, rt::NameRule::parse,
                   "REGEX: parameters that do not decay");
  flags.parsedList("--lr-scale", o.lrScale, driver::RateScale::parse,
                   "REGEX=X: multiply the rate of these parameters");
  flags.add(
      "--mup", o.mup,
      "BASE.onnx: the same model with the widths that rates were found for; rates and decays of what is "
      "wider follow maximal update parametrization");
  flags.add(
      "--lr", o.run.lr,
      "default learning rate of the program (1e-3; schedule-free-adamw: 2.5e-3, soap: 3e-3, prodigy: 1)");
  flags
      .list("--betas", o.run.betas,
            "default betas (0.9,0.999; lion, rmsprop: 0.9,0.99, of which rmsprop takes the second; adopt: "
            "0.9,0.9999; normuon: 0.9,0.95; soap: 0.95,0.95)",
            ',')
      ->expected(2);
  flags.add("--eps", o.run.eps,
            "default epsilon (1e-8; adagrad, normuon: 1e-10; adopt, galore, apollo: 1e-6; adafactor, of the "
            "parameter's "
            "size: 1e-3)");
  flags.add("--weight-decay", o.run.weightDecay,
            "default weight decay (adamw, adamw8bit, soap: 0.01, muon: 0.1, else 0)");
  rt::checkWord(flags.add("--schedule", o.run.schedule.kind, "default schedule of the program (constant)"),
                rt::scheduleNames());
  flags.add("--warmup", o.run.schedule.warmup, "default warm-up of the program, in steps (0)");
  flags.add("--warmup-start", o.run.schedule.warmupStart,
            "default share of the rate that warm-up starts from (0)");
  flags.add("--decay-steps", o.run.schedule.decaySteps,
            "default step at which a schedule ends (--steps); wsd: length of the decay");
  flags.add("--min-lr", o.run.schedule.minLr, "default rate at the end of a schedule (0)");
}

void addRankOptions(CLI::App &command, CompileOptions &o) {
  addMeshOptions(command, o);
  addAutoOptions(command, o);
  Flags flags(command, "Ranks");
  flags
      .number("--zero", o.partition.stage, {0, 3},
              "what is partitioned over the ranks: 0 nothing, 1 the optimizer's state, 2 also gradients, "
              "3 also parameters")
      ->capture_default_str();
  flags.bytes("--bucket-bytes", o.bucketBytes,
              "BYTES or 64MiB: gradients that ranks send together (default: 25MiB)");
  flags.add("--sync-batchnorm", o.syncBatchNorm,
            "BatchNormalization in training takes its statistics over the rows of all ranks");
  flags.bytes("--persist-bytes", o.partition.persistBytes,
              "BYTES or 1MiB: with --zero 3, parameters of at most these bytes stay whole (default: 0)");
  flags.add("--deepspeed-config", o.deepSpeedConfig,
            "FILE.json: take options from a DeepSpeed configuration");
}

void addMemoryOptions(CLI::App &command, CompileOptions &o) {
  Flags flags(command, "Memory");
  flags.parsed("--recompute", o.memory.recompute, remat::Policy::parse,
               "none, full, segments=N, nth=N, sqrt, attention or auto (default: none; auto with a budget)");
  flags.parsed("--memory-budget", o.memory.plan.budget, MemoryBudget::parse,
               "BYTES, 16GiB, 80% (of the unconstrained peak), activations=50% or device");
  flags.bytes("--logits-chunk", o.logitsChunk,
              "BYTES, 64MiB: loss and gradient of larger logits are computed in chunks of rows; 0: never "
              "(default: 128MiB; 512MiB for GPUs without a memory budget)");
  flags.bytes("--feed-forward-chunk", o.feedForwardChunk,
              "BYTES, 256MiB: larger values inside a feed-forward are computed in chunks of rows (default: "
              "0, never)");
  flags.parsedList(
      "--offload", o.memory.offload, offloadOf,
      "what to move to host memory: any of optimizer,gradients,params,activations; optimizer=DIR, "
      "gradients=DIR and params=DIR move it into a file in that directory of the machine that trains",
      ',');
  flags.parsed("--host-memory-budget", o.memory.plan.hostBudget, parseBytes,
               "BYTES or 16GiB: host memory for --offload (default: no limit)");
  flags.number("--effort", o.memory.plan.effort, {0, kMostSteps},
               "search steps of the memory solver (default: by the model's size)");
}

void addPrecisionOptions(CLI::App &command, CompileOptions &o) {
  CLI::Option *precision = command.add_option_function<std::vector<std::string>>(
      "--precision",
      [&o](const std::vector<std::string> &given) {
        o.precisions = valuesOfWords<pipelines::Precision>(given);
        o.precision = o.precisions.front();
      },
      "of weights in use, activations and gradients: fp32 (the default), bf16, fp16, or fp8: bf16 with "
      "products of 8-bit floats; plan --compare takes several, as in bf16,fp32");
  rt::checkWord(precision, wordsOf<pipelines::Precision>())
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Precision");
  Flags flags(command, "Precision");
  flags
      .add("--precision-policy", o.precisionPolicy,
           "master: 16 bits over f32 masters; autocast: PyTorch's lists; or FILE: lines that override "
           "master by op or node")
      ->capture_default_str();
  flags
      .word("--master-weights", o.masterWeights,
            "on, split: a bf16 weight and 8 bits of what rounding took, or off: only bf16 weights, with "
            "stochastic rounding")
      ->capture_default_str();
  flags.word("--grad-dtype", o.gradientType,
             "of gradients: fp32, bf16 or fp16 (default: the type that backward computes in)");
  flags.word("--accumulate-dtype", o.accumulatorType,
             "of gradients that micro-batches add up: fp32 (the default), bf16 or fp16");
}

/// fp16 scales its loss dynamically unless told otherwise; other types only when asked to.
void addLossScaleOptions(CLI::App &command, CompileOptions &o) {
  const Range factor = {0, 1e38, rt::RangeEnds::Above};
  Flags flags(command, "Precision");
  flags.add("--loss-scale", o.givenLossScale, "dynamic (the default of fp16) or a fixed NUMBER")
      ->check([](const std::string &text) { return rt::outOfRange(*rt::rangeOf("--loss-scale"), text); });
  flags.number("--loss-scale-init", o.lossScale.init, factor, "first scale (65536)");
  flags.number("--loss-scale-growth", o.lossScale.growth, factor,
               "factor after a window of steps without overflow (2)");
  flags.number("--loss-scale-backoff", o.lossScale.backoff, factor, "factor after an overflow (0.5)");
  flags.number("--loss-scale-min", o.lossScale.minimum, factor,
               "an overflow at this scale ends the run (default: below 2^-24)");
  flags.number("--loss-scale-window", o.lossScale.window, {1, kMostSteps},
               "steps without overflow before the scale grows (2000)");
  flags.add("--loss-scale-hysteresis", o.lossScale.hysteresis, "overflows before the scale shrinks (1)");
}

void resolveLossScale(CompileOptions &o) {
  if (o.givenLossScale.empty())
    return;
  o.lossScale.scales = true;
  if (o.givenLossScale == "dynamic")
    return;
  o.lossScale.fixed = true;
  o.lossScale.init = *rt::decimalIn(o.givenLossScale);
  o.lossScale.growth = o.lossScale.backoff = 1;
}

/// A scale that shrinks when it should grow, or the other way round, would only be noticed when training has
/// failed.
void checkLossScale(const CLI::App &command, CompileOptions &o) {
  for (const CLI::Option *option : command.get_options())
    if (const std::string name = option->get_name();
        option->count() > 0 && name.rfind("--loss-scale-", 0) == 0)
      o.lossScaleOptions.push_back(name);
  if (o.lossScale.fixed && !o.lossScaleOptions.empty())
    fail("{}: --loss-scale {} is fixed; leave it out, or give --loss-scale dynamic",
         fmt::join(o.lossScaleOptions, ", "), command.get_option("--loss-scale")->as<std::string>());
  if (o.lossScale.growth < 1)
    fail("--loss-scale-growth {}: expected a factor of at least 1: the scale grows after a window of clean "
         "steps",
         o.lossScale.growth);
  if (o.lossScale.backoff > 1)
    fail("--loss-scale-backoff {}: expected a factor of at most 1: the scale shrinks after an overflow",
         o.lossScale.backoff);
}

/// Larger products fill a GPU's last wave better: 18.12 ms a step of GPT-2 became 17.57 (docs/results.md).
/// Under a budget the bytes are worth more: of an 8B within 8 GB, 6,151 tokens fit in place of 3,513.
void resolveLogitsChunk(const CLI::App &command, CompileOptions &o) {
  constexpr int64_t kOnGpu = 512 << 20;
  if (command.count("--logits-chunk") == 0 && o.onGpu() && !o.memory.plan.budget.isGiven())
    o.logitsChunk = kOnGpu;
}

/// Notes what training_info excludes, once all is parsed.
void noteTrainingOptions(CLI::App &command, CompileOptions &o) {
  command.parse_complete_callback([&command, &o] {
    resolveLossScale(o);
    checkLossScale(command, o);
    resolveMesh(command, o);
    resolveAuto(command, o);
    resolveLogitsChunk(command, o);
    if (o.deepSpeedConfig.empty() && !driver::isSavedIr(o.model.model))
      checkEffects(command, o);
    checkAdapterOptions(command, o.model.adapters);
    checkQuantizationOptions(command, o);
    for (const CLI::Option *option : command.get_options()) {
      const std::string name = option->get_name();
      bool excluded = option->get_group() == "Optimizer" ||
                      (option->get_group() == "Loss" && !name.starts_with("--loss"));
      if (option->count() > 0 && excluded)
        o.trainingOptions.push_back(name);
    }
    if (o.model.loss && o.model.loss != LossFunction::None)
      o.trainingOptions.push_back(fmt::format("--loss {}", o.model.loss->text()));
  });
}
} // namespace

void addCompileOptions(CLI::App &command, CompileOptions &o) {
  addModelOptions(command, o.model);
  addOptimizerOptions(command, o);
  addMemoryOptions(command, o);
  addPrecisionOptions(command, o);
  addLossScaleOptions(command, o);
  addRankOptions(command, o);
  addAdapterOptions(command, o.model.adapters);
  addQuantizationOptions(command, o.model.adapters);
  Flags(command, "Memory")
      .parsed("--device", o.device, deviceNamed,
              "h100, h200, a100, rtx4090, cpu or FILE.json: the machine that predicted times are for "
              "(default: this machine)");
  Flags(command, "Ranks")
      .parsed("--link", o.machine.link, linkNamed,
              "dgx-a100, dgx-h100, pcie, machine or FILE.json: links between ranks, level by level, that "
              "predicted times are for (default: one link, the device's)");
  Flags extensions(command, "Extensions");
  extensions.parsedList(
      "--passes-before", o.passesBefore, driver::AddedPasses::parse,
      "PHASE=PIPELINE: passes, as kedge-opt takes them, before those of the phase raise, step, "
      "schedule, rematerialize or lower");
  extensions.parsedList("--passes-after", o.passesAfter, driver::AddedPasses::parse,
                        "PHASE=PIPELINE: passes after those of the phase; what they leave is verified");
  noteTrainingOptions(command, o);
  Flags flags(command, "Output");
  flags
      .add("--target", o.machine.target,
           "cpu, or cuda[:ARCH] with ARCH sm_80, sm_86, sm_89, sm_90 (the default), sm_90a, sm_100 or sm_120")
      ->check([](const std::string &target) {
        if (target != "cpu")
          driver::architectureOf(target); // throws
        return std::string();
      });
  flags.list(
      "--cpu", o.machine.cpus,
      "native (this machine's processor, the default), x86-64-v3 (AVX2), x86-64-v4 (AVX-512), or "
      "several: the program chooses at its start; aarch64-linux: a program for 64-bit Arm, "
      "aarch64-linux+sve: one whose kernels use SVE; x86_64-windows: a program for 64-bit Windows with "
      "kernels for both levels, x86_64-windows+v3 or x86_64-windows+v4: for one; aarch64-macos, "
      "x86_64-macos: a "
      "program or library for macOS 11 and newer; aarch64-android: a program for 64-bit Android; "
      "aarch64-ios: with "
      "--emit obj",
      ',');
  flags.word("--libc", o.machine.libc,
             "shared (the default): the program takes the C library of the machine that it runs on; static: "
             "glibc is linked into it, and it runs on one rank; musl: the same with musl");
  flags.word(
      "--convolution", o.machine.convolution,
      "what computes convolutions with --target cuda: auto (the default): cuDNN in fp32, kernels of the "
      "program in 16 bits; cudnn: cuDNN in 16 bits, too, where it rounds a sum once; generated: kernels "
      "of the program, which need no cuDNN");
  flags.onOff("--side-stream", o.machine.sideStream,
              "on (the default) or off: with --target cuda, updates, sums of partial sums and what else "
              "products do not wait for run on a stream of least priority at the same time");
  flags.onOff("--dependent-launch", o.machine.dependentLaunch,
              "on (the default) or off: with --target cuda from sm_90 on, a kernel is started while the one "
              "before it ends, and waits for that itself");
  flags.onOff("--gelu-sums", o.machine.geluSums,
              "on (the default) or off: with --target cuda in 16 bits, the gradient of a bias before GELU is "
              "summed where GELU's derivative is computed; off: by the product that makes the weight's "
              "gradient, so that cuBLASLt may compute the derivative alone");
  flags.add("--seed", o.run.seed, "default seed of the program")->capture_default_str();
  flags.add("--report", o.output.report, "FILE.json or FILE.html: the memory report");
  rt::checkNumbers(command);
}

void addProgramOptions(CLI::App &command, CompileOptions &o) {
  Flags flags(command, "Output");
  flags.add("-o", o.output.path, "the program (or the text that --emit asks for; default: standard output)");
  flags
      .word("--emit", o.output.emit,
            "what to make; lib: a library that learns within another program, with its headers")
      ->capture_default_str();
  flags.add("--with-places", o.output.withPlaces,
            "with --emit onnx, train, schedule or exec: the text that compile and kedge-opt go on from, "
            "with the places and locations of ops; without it, the text for people");
  flags.add("--only", o.output.only,
            "with --emit onnx, train, schedule or exec: show one function (step) or the ops of one "
            "module of the model (h.0.attn)");
  flags.add("--save-ir", o.output.saveIr,
            "DIR: the IR after each phase, numbered; compile goes on from such a file");
  flags.add("--print-pipeline", o.output.printPipeline,
            "print the passes of each phase, as kedge-opt takes them, and compile nothing");
  flags.parsed("--algorithms", o.output.algorithms, algorithmsIn,
               "FILE.json: algorithms for a GPU's matrix products, as kedge-bench tune wrote them");
  flags.add("--depfile", o.output.depfile,
            "FILE.d: the files that the output was made of, for make and ninja");
  flags.add("--embed-weights", o.output.embedWeights, "put the weights into the program");
}

} // namespace kedge::tool
