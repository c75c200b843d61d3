#include "tools/kedge/CompileFlags.h"
#include "driver/SavedIr.h"
#include "driver/program/GpuTarget.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "runtime/program/NumberFlags.h"
#include "tools/kedge/AdapterFlags.h"
#include "tools/kedge/AutoFlags.h"
#include "tools/kedge/MeshFlags.h"
#include "tools/kedge/OptionEffects.h"
#include <fmt/ranges.h>

namespace kedge::tool {
namespace {

void addOptimizerOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Optimizer";
  command.add_option("--optimizer", o.optimizer, "update rule")
      ->check(CLI::IsMember({"adamw", "adam", "sgd", "lion", "adafactor", "muon", "rmsprop", "adagrad",
                             "adamw8bit", "adam8bit"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--muon", o.muon,
                  "REGEX: matrices that muon updates (default: all of MatMul and Gemm but embeddings and the "
                  "head); AdamW updates the rest")
      ->group(group);
  command
      .add_option("--momentum", o.momentum,
                  "momentum of sgd, rmsprop and muon (default: muon 0.95, else 0, which needs no buffer)")
      ->group(group);
  command.add_flag("--nesterov", o.nesterov, "Nesterov momentum")->group(group);
  command.add_option("--clip-norm", o.clipNorm, "largest global gradient norm; 0: no clipping")->group(group);
  command
      .add_option(
          "--moments", o.moments,
          "of adamw, adam, lion and sgd's momentum: fp32, bf16, or int8: codes in groups of 32 with an "
          "fp16 scale")
      ->check(CLI::IsMember({"fp32", "bf16", "int8"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--ema", o.averageDecay,
                  "D: keep a moving average of each trained tensor: D times itself and 1 - D times the new "
                  "value, step by step (the program's --eval-ema and --export-ema use it)")
      ->group(group);
  command.add_option("--accumulate", o.accumulate, "micro-batches of a step")
      ->group(group)
      ->capture_default_str();
  command.add_option("--weight-decay-exclude", o.weightDecayExclude, "REGEX: parameters that do not decay")
      ->group(group)
      ->allow_extra_args(false);
  command.add_option("--lr-scale", o.lrScale, "REGEX=X: multiply the rate of these parameters")
      ->group(group)
      ->allow_extra_args(false);
  command.add_option("--lr", o.lr, "default learning rate of the program")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--betas", o.betas,
                  "default betas (0.9,0.999; lion, rmsprop: 0.9,0.99, of which rmsprop takes the second)")
      ->delimiter(',')
      ->expected(2)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--eps", o.eps,
                  "default epsilon (1e-8; adagrad: 1e-10; adafactor, of the parameter's size: 1e-3)")
      ->group(group);
  command
      .add_option("--weight-decay", o.weightDecay,
                  "default weight decay (adamw, adamw8bit: 0.01, muon: 0.1, else 0)")
      ->group(group);
  command.add_option("--schedule", o.schedule.kind, "default schedule of the program (constant)")
      ->check(CLI::IsMember({"constant", "linear", "cosine", "wsd"}))
      ->group(group);
  command.add_option("--warmup", o.schedule.warmup, "default warm-up of the program, in steps (0)")
      ->group(group);
  command
      .add_option("--warmup-start", o.schedule.warmupStart,
                  "default share of the rate that warm-up starts from (0)")
      ->group(group);
  command
      .add_option("--decay-steps", o.schedule.decaySteps,
                  "default step at which a schedule ends (--steps); wsd: length of the decay")
      ->group(group);
  command.add_option("--min-lr", o.schedule.minLr, "default rate at the end of a schedule (0)")->group(group);
}

int64_t bytesGiven(const std::string &flag, const std::string &text) {
  if (text == "0")
    return 0;
  MemoryBudget given = parseMemoryBudget(text);
  if (given.kind != MemoryBudget::Kind::Bytes)
    fail("{} {}: expected bytes, such as 67108864 or 64MiB, or 0", flag, text);
  return given.bytes;
}

void addRankOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Ranks";
  addMeshOptions(command, o);
  addAutoOptions(command, o);
  command
      .add_option("--zero", o.zero,
                  "what is partitioned over the ranks: 0 nothing, 1 the optimizer's state, 2 also gradients, "
                  "3 also parameters")
      ->group(group)
      ->capture_default_str();
  auto bytes = [&](const std::string &flag, int64_t &value, const std::string &text) {
    command
        .add_option_function<std::string>(
            flag, [flag, &value](const std::string &given) { value = bytesGiven(flag, given); }, text)
        ->group(group);
  };
  bytes("--bucket-bytes", o.bucketBytes,
        "BYTES or 64MiB: gradients that ranks send together (default: 25MiB)");
  command
      .add_flag("--sync-batchnorm", o.syncBatchNorm,
                "BatchNormalization in training takes its statistics over the rows of all ranks")
      ->group(group);
  bytes("--persist-bytes", o.persistBytes,
        "BYTES or 1MiB: with --zero 3, parameters of at most these bytes stay whole (default: 0)");
  command
      .add_option("--deepspeed-config", o.deepSpeedConfig,
                  "FILE.json: take options from a DeepSpeed configuration")
      ->group(group);
}

void addMemoryOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Memory";
  command
      .add_option(
          "--recompute", o.recompute,
          "none, full, segments=N, nth=N, sqrt, attention or auto (default: none; auto with a budget)")
      ->group(group);
  command
      .add_option("--memory-budget", o.memoryBudget,
                  "BYTES, 16GiB, 80% (of the unconstrained peak), activations=50% or device")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--logits-chunk",
          [&o](const std::string &text) { o.logitsChunk = bytesGiven("--logits-chunk", text); },
          "BYTES, 64MiB: loss and gradient of larger logits are computed in chunks of rows; 0: never "
          "(default: 128MiB)")
      ->group(group);
  command
      .add_option("--offload", o.offload,
                  "what to move to host memory: any of optimizer,gradients,params,activations")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"optimizer", "gradients", "params", "activations"}))
      ->group(group);
  command
      .add_option("--host-memory-budget", o.hostMemoryBudget,
                  "BYTES or 16GiB: host memory for --offload (default: no limit)")
      ->group(group);
  command
      .add_option("--effort", o.effort, "search steps of the memory solver (default: by the model's size)")
      ->group(group);
}

void addPrecisionOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Precision";
  command
      .add_option_function<std::vector<std::string>>(
          "--precision",
          [&o](const std::vector<std::string> &given) {
            o.precisions = given;
            o.precision = given.front();
          },
          "of weights in use, activations and gradients: fp32 (the default), bf16, fp16, or fp8: bf16 with "
          "products of 8-bit floats; plan --compare takes several, as in bf16,fp32")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "fp8"}))
      ->group(group);
  command
      .add_option("--precision-policy", o.precisionPolicy,
                  "master: 16 bits over f32 masters; autocast: PyTorch's lists; or FILE: lines that override "
                  "master by op or node")
      ->group(group)
      ->capture_default_str();
}

double positive(const std::string &flag, const std::string &text) {
  if (const std::string wrong = rt::outOfRange(*rt::rangeOf(flag), text); !wrong.empty())
    fail("{}: {}", flag, wrong);
  return *rt::decimalIn(text);
}

void addGradientTypes(CLI::App &command, CompileOptions &o) {
  const char *group = "Precision";
  const CLI::IsMember types({"fp32", "bf16", "fp16"});
  command
      .add_option(
          "--master-weights", o.masterWeights,
          "on, split: a bf16 weight and 8 bits of what rounding took, or off: only bf16 weights, with "
          "stochastic rounding")
      ->check(CLI::IsMember({"on", "split", "off"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--grad-dtype", o.gradientType,
                  "of gradients: fp32, bf16 or fp16 (default: the type that backward computes in)")
      ->check(types)
      ->group(group);
  command
      .add_option("--accumulate-dtype", o.accumulatorType,
                  "of gradients that micro-batches add up: fp32 (the default), bf16 or fp16")
      ->check(types)
      ->group(group);
}

/// fp16 scales its loss dynamically unless told otherwise; other types only when asked to.
void addLossScaleOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Precision";
  command
      .add_option_function<std::string>(
          "--loss-scale",
          [&o](const std::string &text) {
            o.lossScale.scales = true;
            if (text == "dynamic")
              return;
            o.lossScale.fixed = true;
            o.lossScale.init = positive("--loss-scale", text);
            o.lossScale.growth = o.lossScale.backoff = 1;
          },
          "dynamic (the default of fp16) or a fixed NUMBER")
      ->group(group);
  auto number = [&](const std::string &flag, double &value, const std::string &text) {
    command
        .add_option_function<std::string>(
            flag, [flag, &value](const std::string &given) { value = positive(flag, given); }, text)
        ->group(group);
  };
  number("--loss-scale-init", o.lossScale.init, "first scale (65536)");
  number("--loss-scale-growth", o.lossScale.growth, "factor after a window of steps without overflow (2)");
  number("--loss-scale-backoff", o.lossScale.backoff, "factor after an overflow (0.5)");
  number("--loss-scale-min", o.lossScale.minimum,
         "an overflow at this scale ends the run (default: below 2^-24)");
  command
      .add_option("--loss-scale-window", o.lossScale.window,
                  "steps without overflow before the scale grows (2000)")
      ->group(group);
  command
      .add_option("--loss-scale-hysteresis", o.lossScale.hysteresis, "overflows before the scale shrinks (1)")
      ->group(group);
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

/// Notes what training_info excludes, once all is parsed.
void noteTrainingOptions(CLI::App &command, CompileOptions &o) {
  command.parse_complete_callback([&command, &o] {
    checkLossScale(command, o);
    resolveMesh(command, o);
    resolveAuto(command, o);
    if (o.deepSpeedConfig.empty() && !driver::isSavedIr(o.model.model))
      checkEffects(command, o);
    checkAdapterOptions(command, o.model.adapters);
    static const std::vector<std::string> ofLoss = {"--logits",       "--labels",          "--class-axis",
                                                    "--ignore-index", "--label-smoothing", "--class-weights",
                                                    "--pos-weight",   "--sample-weights"};
    for (const CLI::Option *option : command.get_options()) {
      const std::string name = option->get_name();
      bool excluded =
          option->get_group() == "Optimizer" || std::find(ofLoss.begin(), ofLoss.end(), name) != ofLoss.end();
      if (option->count() > 0 && excluded)
        o.trainingOptions.push_back(name);
    }
    if (!o.model.loss.empty() && o.model.loss != "none")
      o.trainingOptions.push_back("--loss " + o.model.loss);
  });
}
} // namespace

void addCompileOptions(CLI::App &command, CompileOptions &o) {
  addModelOptions(command, o.model);
  addOptimizerOptions(command, o);
  addMemoryOptions(command, o);
  addPrecisionOptions(command, o);
  addGradientTypes(command, o);
  addLossScaleOptions(command, o);
  addRankOptions(command, o);
  addAdapterOptions(command, o.model.adapters);
  command
      .add_option("--device", o.device,
                  "h100, h200, a100, rtx4090, cpu or FILE.json: the machine that predicted times are for "
                  "(default: this machine)")
      ->group("Memory");
  command
      .add_option("--link", o.link,
                  "dgx-a100, dgx-h100, pcie, machine or FILE.json: links between ranks, level by level, that "
                  "predicted times are for (default: one link, the device's)")
      ->group("Ranks");
  noteTrainingOptions(command, o);
  const char *group = "Output";
  command
      .add_option_function<std::string>(
          "--target",
          [&o](const std::string &target) {
            if (target != "cpu")
              driver::architectureOf(target);
            o.target = target;
          },
          "cpu, or cuda[:ARCH] with ARCH sm_80, sm_86, sm_89, sm_90 (the default), sm_100 or sm_120")
      ->group(group);
  command
      .add_option("--cpu", o.cpus,
                  "native (this machine's processor, the default), x86-64-v3 (AVX2), x86-64-v4 (AVX-512), or "
                  "several: the program chooses at its start")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--convolution", o.convolution,
                  "what computes convolutions with --target cuda: cudnn, for those that it supports (the "
                  "default), or generated kernels, which need no cuDNN")
      ->check(CLI::IsMember({"cudnn", "generated"}))
      ->group(group);
  command.add_option("--seed", o.seed, "default seed of the program")->group(group)->capture_default_str();
  command.add_option("--report", o.report, "FILE.json or FILE.html: the memory report")->group(group);
  rt::checkNumbers(command);
}

void addProgramOptions(CLI::App &command, CompileOptions &o) {
  const char *group = "Output";
  command
      .add_option("-o", o.output, "the program (or the text that --emit asks for; default: standard output)")
      ->group(group);
  command
      .add_option("--emit", o.emit,
                  "what to make; lib: a library that learns within another program, with its headers")
      ->check(CLI::IsMember({"onnx", "train", "schedule", "exec", "llvm", "ptx", "obj", "exe", "lib"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_flag("--with-places", o.withPlaces,
                "with --emit onnx, train, schedule or exec: the text that compile and kedge-opt go on from, "
                "with the "
                "places and locations of ops; without it, the text for people")
      ->group(group);
  command
      .add_option("--only", o.only,
                  "with --emit onnx, train, schedule or exec: show one function (step) or the ops of one "
                  "module of the "
                  "model (h.0.attn)")
      ->group(group);
  command
      .add_option("--save-ir", o.saveIr,
                  "DIR: the IR after each phase, numbered; compile goes on from such a file")
      ->group(group);
  command
      .add_flag("--print-pipeline", o.printPipeline,
                "print the passes of each phase, as kedge-opt takes them, and compile nothing")
      ->group(group);
  command
      .add_option("--algorithms", o.algorithms,
                  "FILE.json: algorithms for a GPU's matrix products, as kedge-bench tune wrote them")
      ->group(group);
  command.add_flag("--embed-weights", o.embedWeights, "put the weights into the program")->group(group);
}

} // namespace kedge::tool
