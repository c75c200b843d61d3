#include "runtime/program/Options.h"
#include "runtime/io/Error.h"
#include "runtime/io/NamePattern.h"
#include "runtime/program/NumberFlags.h"
#include "runtime/program/ParseErrors.h"
#include "runtime/program/Version.h"
#include "runtime/program/WordFlags.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/ranges.h>
#include <limits>
#include <sstream>

namespace kedge::rt {
namespace {

/// What CLI11 fills before the texts are taken apart.
struct Texts {
  std::vector<std::string> data, tokens, evalData, evalTokens, predict, init, inject;
  std::string betas, schedule, onNan = "stop";
};

NamedFile namedFile(const std::string &flag, const std::string &text, bool nameNeeded) {
  const size_t split = text.find('=');
  if (split == std::string::npos && !nameNeeded)
    return {"", text};
  if (split == std::string::npos || split == 0 || split + 1 == text.size())
    fail("{} {}: expected NAME=FILE", flag, text);
  return {text.substr(0, split), text.substr(split + 1)};
}

std::vector<NamedFile> namedFiles(const std::string &flag, const std::vector<std::string> &texts,
                                  bool nameNeeded = true) {
  std::vector<NamedFile> result;
  for (const std::string &text : texts)
    result.push_back(namedFile(flag, text, nameNeeded));
  return result;
}

/// A number within an option's text, in the flag's range.
double number(const std::string &flag, const std::string &text) {
  if (const std::string wrong = outOfRange(*rangeOf(flag), text); !wrong.empty())
    fail("{}: {}", flag, wrong);
  return *decimalIn(text);
}

InitSpec initSpec(const std::string &text) {
  const size_t split = text.rfind('=');
  if (split == std::string::npos || split == 0)
    fail("--init {}: expected REGEX=zeros|ones|normal:STD|uniform:A", text);
  InitSpec spec;
  spec.pattern = text.substr(0, split);
  const std::string value = text.substr(split + 1);
  const size_t colon = value.find(':');
  const std::string kind = value.substr(0, colon);
  const bool amount = colon != std::string::npos;
  if (kind == "zeros" && !amount)
    spec.kind = InitSpec::Kind::Zeros;
  else if (kind == "ones" && !amount)
    spec.kind = InitSpec::Kind::Ones;
  else if (kind == "normal" && amount)
    spec.kind = InitSpec::Kind::Normal;
  else if (kind == "uniform" && amount)
    spec.kind = InitSpec::Kind::Uniform;
  else
    fail("--init {}: '{}' is none of zeros, ones, normal:STD, uniform:A", text, value);
  if (amount)
    spec.amount = number("--init", value.substr(colon + 1));
  try {
    NamePattern check(spec.pattern);
  } catch (const PatternError &error) {
    fail("--init {}: '{}' is not an ECMAScript regular expression: {}", text, spec.pattern, error.what());
  }
  return spec;
}

void parseInjections(const std::vector<std::string> &texts, std::map<int64_t, double> &inject) {
  for (const std::string &text : texts) {
    const size_t split = text.find('=');
    const std::string value = split == std::string::npos ? "" : text.substr(split + 1);
    double injected = 0;
    if (value == "inf" || value == "-inf")
      injected = (value[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
    else if (value == "nan")
      injected = std::numeric_limits<double>::quiet_NaN();
    else
      fail("--inject-gradient {}: expected STEP=inf, STEP=-inf or STEP=nan", text);
    inject[static_cast<int64_t>(number("--inject-gradient", text.substr(0, split)))] = injected;
  }
}

void addDataFlags(CLI::App &app, Options &o, Texts &t) {
  app.add_option("--data", t.data,
                 "INPUT=FILE.npy: one for each input: its rows (f2 f4 f8 u1 u2 u4 i1 i2 i4 i8)");
  app.add_option("--tokens", t.tokens,
                 "[INPUT=]FILE: token file (npy of integers, raw uint16, or with llm.c's header)");
  app.add_option("--eval-data", t.evalData, "INPUT=FILE.npy, one for each input: rows to evaluate on");
  app.add_option("--eval-tokens", t.evalTokens, "[INPUT=]FILE: tokens to evaluate on");
  app.add_option("--documents", o.documents,
                 "FILE.npy: where the documents in --tokens begin (and their answers); labels at their "
                 "borders do not count");
  app.add_option("--eval-documents", o.evalDocuments, "FILE.npy: the same for --eval-tokens");
  app.add_flag("--mask-prompt", o.maskPrompt,
               "labels before the answers that --documents names do not count");
  app.add_flag("--shift-labels", o.shiftLabels,
               "the labels given are the inputs: each counts at the place before its own");
  app.add_option("--eval-every", o.evalEvery, "evaluate after every N-th step, and at the end");
  app.add_option("--metric", o.metrics,
                 "accuracy, top5, perplexity, f1, mae: what evaluation measures besides the loss")
      ->delimiter(',');
  app.add_option("--keep-best", o.keepBest,
                 "METRIC, or loss: the checkpoint 'best' is that of the best evaluation");
  app.add_option("--stop-after", o.stopAfter,
                 "end after N evaluations without a better one (of --keep-best's metric, else of the loss)");
  app.add_flag("--eval-ema", o.evalAverage,
               "evaluate and predict with the moving averages of the weights that --ema keeps");
  app.add_option("--shuffle", o.scalars.shuffle, "SEED: permute the samples once an epoch");
}

void addScalarFlags(CLI::App &app, Options &o, Texts &t) {
  ScalarOptions &s = o.scalars;
  app.add_option("--steps", s.steps, "optimizer steps in all");
  app.add_option("--epochs", o.epochs, "in place of --steps: how often all rows are used");
  app.add_option("--lr", s.lr, "learning rate");
  app.add_option(
      "--find-lr", o.findRate,
      "in place of training: N steps at rates from 1e-7 to 10, and the rate at which the loss falls fastest");
  app.add_option("--min-lr", s.minLr, "learning rate at the end of a schedule (0)");
  checkWord(app.add_option("--schedule", t.schedule, "how the learning rate changes (constant)"),
            scheduleNames());
  app.add_option("--warmup", s.warmup,
                 "steps of linear warm-up (0); one-cycle: of its rise (0.3 of its steps)");
  app.add_option("--warmup-start", s.warmupStart,
                 "fraction of --lr that warm-up starts from (0; one-cycle: 0.04)");
  app.add_option("--decay-steps", s.decaySteps,
                 "step at which a schedule ends (--steps); wsd: length of the decay");
  app.add_option("--weight-decay", s.weightDecay, "weight decay");
  app.add_option("--betas", t.betas, "B1,B2: decay of Adam's moments");
  app.add_option("--eps", s.eps, "epsilon of Adam");
  app.add_option("--dpo-beta", s.dpoBeta, "beta of a preference loss, in place of the compiled one");
  app.add_option("--seed", s.seed, "seed of dropout and --init");
}

void addStateFlags(CLI::App &app, Options &o, Texts &t) {
  app.add_option("--model", o.model, "where the compiled model file is now");
  app.add_option("--weights", o.weights,
                 "FILE.onnx, FILE.safetensors, INDEX.json of shards or a Hugging Face folder: initial values "
                 "by name and shape");
  app.add_flag("--weights-partial", o.weightsPartial,
               "parameters that --weights lacks keep the model's values");
  app.add_option("--adapter", o.adapter, "DIR: first values of the adapters, as peft saves them");
  app.add_option("--init", t.init, "REGEX=zeros|ones|normal:STD|uniform:A: initial values");
  app.add_option(
      "--offload-dir", o.offloadDir,
      "DIR: where the files for offloaded states are made, in place of those that --offload named");
  app.add_option("--checkpoint-dir", o.checkpointDir, "folder of checkpoints");
  app.add_option("--checkpoint-every", o.checkpointEvery,
                 "checkpoint after every N-th step (and at the end)");
  app.add_option("--keep", o.keep, "checkpoints to keep (2)");
  app.add_option("--resume", o.resumeDir, "[DIR]: go on from the newest checkpoint")->expected(0, 1);
  app.add_option("--export-onnx", o.exportOnnx,
                 "write the trained model; adapters are merged into their weights");
  app.add_option("--export-onnx-adapters", o.exportOnnxAdapters,
                 "write the model with its adapters as nodes of their own");
  app.add_option("--export-adapter", o.exportAdapter, "DIR: write the adapters as peft loads them");
  app.add_flag("--export-training-mode", o.exportTrainingMode,
               "export Dropout and BatchNormalization in training mode");
  app.add_flag("--export-quantized", o.exportQuantized,
               "--export-onnx writes the weights that --qat rounds, and what they are multiplied with, as "
               "integers (QuantizeLinear, DequantizeLinear)");
  app.add_flag("--export-ema", o.exportAverage,
               "exports have the moving averages of the weights that --ema keeps");
  app.add_option("--export-safetensors", o.exportSafetensors,
                 "FILE[:bf16|fp16]: write the trained weights (as they are held: fp32 masters)");
}

void addReportFlags(CLI::App &app, Options &o, Texts &t) {
  app.add_option("--log", o.log, "FILE.jsonl: one object per step");
  app.add_option("--tensorboard", o.tensorboard,
                 "DIR: the same numbers, the options and the plan as TensorBoard reads them");
  app.add_option("--profile", o.profile, "FILE.json: Chrome trace of the launches");
  app.add_option("--memory-report", o.memoryReport, "FILE.json: the plan with what was measured");
  app.add_flag("--plan", o.plan, "print the plan and exit");
  app.add_option("--threads", o.threads, "threads (physical cores)");
  app.add_option("--comm-timeout", o.commTimeout, "seconds to wait for other ranks (30)");
  app.add_flag("--shared-gpu", o.sharedGpu,
               "several ranks on one GPU, for tests: by an NCCL that can (2.30 does)");
  checkWord(
      app.add_option("--on-nan", t.onNan,
                     "when loss or gradients are not finite: stop, or continue without that step's update"),
      {"stop", "continue"});
  app.add_option("--predict", t.predict, "OUTPUT=FILE.npy: an output on --eval-data, in evaluation mode");
  app.add_option("--dump-gradients", o.dumpGradients, "FILE.safetensors: gradients of --dump-step");
  app.add_option("--dump-step", o.dumpStep, "step of --dump-gradients (0)");
  app.add_option("--trace-values", o.traceValues,
                 "FILE: every value of every step, as kedge diff compares them");
  app.add_option("--inject-gradient", t.inject, "STEP=inf|-inf|nan,...: for tests")->delimiter(',');
}

void addSampleFlags(CLI::App &app, SampleOptions &o) {
  app.add_option("--sample", o.prompt, "TEXT: print it with what the trained model goes on with");
  app.add_option("--tokenizer", o.tokenizer,
                 "a tokenizer.json of Hugging Face, or the word bytes: for --sample");
  app.add_option("--sample-tokens", o.tokens, "tokens that --sample adds at most (100)");
  app.add_option("--temperature", o.temperature, "of --sample: 0 takes the likeliest token (0.8)");
  app.add_option("--top-k", o.topK, "of --sample: only the K likeliest tokens may come (0: all)");
}

void addFlags(CLI::App &app, Options &options, Texts &texts) {
  addDataFlags(app, options, texts);
  addScalarFlags(app, options, texts);
  addStateFlags(app, options, texts);
  addReportFlags(app, options, texts);
  addSampleFlags(app, options.sample);
}

/// As kedge compile's --shape: `--data x=x.npy labels=y.npy`.
bool takesSeveral(const std::string &flag) {
  return flag == "--data" || flag == "--eval-data" || flag == "--predict";
}

void checkDataOptions(const CLI::App &app, const Options &o) {
  if (!o.documents.empty() && o.tokens.size() != 1)
    fail("--documents needs one --tokens file: it tells where the documents in it begin");
  if (!o.evalDocuments.empty() && o.evalTokens.size() != 1)
    fail("--eval-documents needs one --eval-tokens file: it tells where the documents in it begin");
  if (o.maskPrompt && o.documents.empty() && o.evalDocuments.empty())
    fail("--mask-prompt needs --documents (or --eval-documents): an array of [documents, 2], where each "
         "begins and where its answer begins");
  if (o.shiftLabels && o.data.empty() && o.evalData.empty())
    fail("--shift-labels needs --data or --eval-data: the labels of --tokens are the next tokens already");
  if (app.count("--epochs") != 0 && app.count("--steps") != 0)
    fail("--epochs and --steps both say how long to train; give one of them");
  if (app.count("--epochs") != 0 && o.data.empty() && o.tokens.empty())
    fail("--epochs needs --data or --tokens: it counts their rows");
}

/// What a range test leaves is thrown away.
void checkRateTest(const CLI::App &app, const Options &o) {
  if (o.findRate == 0)
    return;
  if (o.data.empty() && o.tokens.empty())
    fail("--find-lr needs --data or --tokens: it trains on them");
  for (const char *flag :
       {"--steps", "--epochs", "--lr", "--min-lr", "--schedule", "--warmup", "--warmup-start",
        "--decay-steps", "--checkpoint-dir", "--eval-data", "--eval-tokens", "--export-onnx",
        "--export-onnx-adapters", "--export-safetensors", "--export-adapter", "--sample"})
    if (app.count(flag) != 0)
      fail("{} would have no effect: --find-lr changes the rate itself and keeps nothing; leave it out",
           flag);
}

void checkSampleOptions(const CLI::App &app, const SampleOptions &o) {
  if (!o.prompt.empty() && o.tokenizer.empty())
    fail("--sample needs --tokenizer FILE, the tokenizer.json that the tokens were made with, or --tokenizer "
         "bytes");
  for (const char *flag : {"--tokenizer", "--sample-tokens", "--temperature", "--top-k"})
    if (app.count(flag) != 0 && o.prompt.empty())
      fail("{} needs --sample TEXT", flag);
}

/// What follows the last colon of --export-safetensors FILE:TYPE, unless it is a part of a path.
void takeExportType(Options &o) {
  const size_t colon = o.exportSafetensors.rfind(':');
  if (colon == std::string::npos || o.exportSafetensors.find_first_of("/\\", colon) != std::string::npos)
    return;
  const std::string type = o.exportSafetensors.substr(colon + 1);
  if (type != "bf16" && type != "fp16")
    fail("--export-safetensors {}: '{}' is no type to write: expected FILE, FILE:bf16 or FILE:fp16",
         o.exportSafetensors, type);
  o.exportType = type == "bf16" ? DType::BF16 : DType::F16;
  o.exportSafetensors.resize(colon);
}

void takeApart(const CLI::App &app, const Texts &t, Options &o) {
  takeExportType(o);
  o.data = namedFiles("--data", t.data);
  o.tokens = namedFiles("--tokens", t.tokens, false);
  o.evalData = namedFiles("--eval-data", t.evalData);
  o.evalTokens = namedFiles("--eval-tokens", t.evalTokens, false);
  o.predict = namedFiles("--predict", t.predict);
  for (const std::string &text : t.init)
    o.init.push_back(initSpec(text));
  parseInjections(t.inject, o.inject);
  checkDataOptions(app, o);
  checkSampleOptions(app, o.sample);
  checkRateTest(app, o);
  if (!t.schedule.empty())
    o.scalars.schedule = parseSchedule(t.schedule);
  if (!t.betas.empty()) {
    const size_t comma = t.betas.find(',');
    if (comma == std::string::npos)
      fail("--betas {}: expected B1,B2", t.betas);
    o.scalars.beta1 = number("--betas", t.betas.substr(0, comma));
    o.scalars.beta2 = number("--betas", t.betas.substr(comma + 1));
  }
  o.resume = app.count("--resume") != 0;
  o.continueOnNan = t.onNan == "continue";
  if (o.resume && o.resumeDir.empty() && o.checkpointDir.empty())
    fail("--resume needs --checkpoint-dir, or a folder: --resume DIR");
  if (o.checkpointEvery != 0 && o.checkpointDir.empty())
    fail("--checkpoint-every needs --checkpoint-dir");
  if (o.evalEvery != 0 && o.evalData.empty() && o.evalTokens.empty())
    fail("--eval-every needs --eval-data or --eval-tokens");
  if (o.evalAverage && o.evalData.empty() && o.evalTokens.empty())
    fail("--eval-ema needs --eval-data or --eval-tokens: it says what is evaluated");
  if (!o.metrics.empty() && o.evalData.empty() && o.evalTokens.empty())
    fail("--metric needs --eval-data or --eval-tokens: metrics are of evaluation");
  if (!o.keepBest.empty() && o.checkpointDir.empty())
    fail("--keep-best needs --checkpoint-dir");
  if ((!o.keepBest.empty() || o.stopAfter != 0) && o.evalEvery == 0)
    fail("{} needs --eval-every: it compares evaluations",
         o.keepBest.empty() ? "--stop-after" : "--keep-best");
  if (o.exportAverage && o.exportOnnx.empty() && o.exportOnnxAdapters.empty() && o.exportAdapter.empty() &&
      o.exportSafetensors.empty())
    fail("--export-ema needs an export, such as --export-onnx FILE");
  if (o.exportQuantized && o.exportOnnx.empty())
    fail("--export-quantized needs --export-onnx FILE: it says in what form that is written");
  if (o.exportQuantized && o.exportTrainingMode)
    fail("--export-quantized cannot be given with --export-training-mode: integers do not train");
  if (app.count("--dump-step") != 0 && o.dumpGradients.empty())
    fail("--dump-step needs --dump-gradients");
  if (!o.traceValues.empty() && (!o.dumpGradients.empty() || !o.inject.empty()))
    fail("--trace-values cannot be given with --dump-gradients or --inject-gradient");
  if (o.weightsPartial && o.weights.empty())
    fail("--weights-partial needs --weights");
  if (app.count("--keep") != 0 && o.checkpointDir.empty())
    fail("--keep needs --checkpoint-dir");
}

} // namespace

const std::vector<std::string> &scheduleNames() {
  static const std::vector<std::string> names = {"constant", "linear", "cosine", "wsd", "one-cycle"};
  return names;
}

std::string scheduleName(ScheduleKind kind) { return scheduleNames()[static_cast<size_t>(kind)]; }

ScheduleKind parseSchedule(const std::string &name) {
  const std::vector<std::string> &names = scheduleNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail("unknown schedule '{}': expected {}", name, fmt::join(names, ", "));
  return static_cast<ScheduleKind>(found - names.begin());
}

void splitAtNames(std::vector<NamedFile> &files, const std::function<bool(const std::string &)> &isKnown) {
  for (NamedFile &file : files) {
    const std::string whole = file.name + "=" + file.file;
    size_t split = file.name.size();
    while (split < whole.size() && !isKnown(whole.substr(0, split)))
      split = std::min(whole.find('=', split + 1), whole.size());
    if (split + 1 < whole.size() && !file.name.empty())
      file = {whole.substr(0, split), whole.substr(split + 1)};
  }
}

std::vector<std::string> programFlags() {
  CLI::App app;
  Options options;
  Texts texts;
  addFlags(app, options, texts);
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    names.push_back(option->get_name());
  return names;
}

std::optional<int> parseOptions(int argc, char **argv, const std::string &programName, Options &options,
                                bool speaks) {
  CLI::App app{"Trains " + programName + ". Compiled by kedge."};
  app.set_version_flag("--version", fmt::format("{}, compiled by {}", programName, version()),
                       "print which Kedge compiled the program");
  Texts texts;
  addFlags(app, options, texts);
  checkNumbers(app);
  for (CLI::Option *option : app.get_options())
    if (option->get_items_expected_max() > 1 && option->get_name() != "--help")
      option->allow_extra_args(takesSeveral(option->get_name()));
  refuseEmptyValues(app, {argv + std::min(argc, 1), argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    std::ostringstream unheard;
    return speaks ? app.exit(success) : app.exit(success, unheard, unheard);
  } catch (const CLI::ParseError &error) {
    fail("{}", describeParseError(app, error, argc, argv));
  }
  takeApart(app, texts, options);
  for (int i = 1; i < argc; ++i)
    options.asGiven += std::string(argv[i]) + "\n";
  return std::nullopt;
}

} // namespace kedge::rt
