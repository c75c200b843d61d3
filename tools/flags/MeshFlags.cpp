#include "tools/flags/MeshFlags.h"
#include "driver/options/ExpertAxis.h"
#include "driver/shard/Configuration.h"
#include "lib/Support/Divisors.h"
#include "lib/Support/Error.h"
#include "passes/Pipeline/Schedule.h"
#include "runtime/io/Error.h"
#include "tools/flags/Flags.h"
#include <fmt/ranges.h>

namespace kedge::tool {

using driver::CompileOptions;

namespace {

struct Axis {
  const char *flag, *name;
};
constexpr Axis kShort[] = {{"--tensor", "tensor"}, {"--pipeline", "pipeline"}};

bool isGiven(const CLI::App &command, const char *flag) { return command.get_option(flag)->count() > 0; }

/// As it was given, for messages: "--mesh replica=2 --tensor 2".
std::string meshFlagsOf(const CLI::App &command) {
  std::vector<std::string> words;
  for (const char *flag : {"--mesh", "--tensor", "--pipeline", "--ranks", "--configuration"})
    if (isGiven(command, flag))
      words.push_back(fmt::format("{} {}", flag, fmt::join(command.get_option(flag)->results(), ",")));
  return fmt::format("{}", fmt::join(words, " "));
}

rt::Mesh parsed(const CLI::App &command, const std::string &text) {
  try {
    return rt::Mesh::parse(text);
  } catch (const rt::RuntimeError &error) {
    fail("{}: {}", meshFlagsOf(command), error.what());
  }
}

/// What was given, without `data` where --ranks is to tell it.
std::string givenAxes(const CLI::App &command) {
  std::string text = isGiven(command, "--mesh") ? command.get_option("--mesh")->as<std::string>() : "";
  for (const Axis &axis : kShort) {
    if (!isGiven(command, axis.flag))
      continue;
    if (text.find(std::string(axis.name) + "=") != std::string::npos)
      fail("{}: {} ranks are named twice; name them in one of both", meshFlagsOf(command), axis.name);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name,
                        command.get_option(axis.flag)->as<std::string>());
  }
  return text;
}

/// The ranks that other axes leave are along `data`.
void fillData(const CLI::App &command, CompileOptions &o, std::string &text) {
  const int64_t ranks = o.model.ranks.front(), others = parsed(command, text).size();
  const bool hasData = ("," + text).find(",data=") != std::string::npos;
  if (hasData && others != ranks)
    fail("{}: the mesh has {} ranks; leave --ranks out, or give --ranks {}", meshFlagsOf(command), others,
         others);
  if (hasData)
    return;
  if (ranks % others != 0)
    fail("{}: {} does not divide {} ranks; sizes that do are {}", meshFlagsOf(command), others, ranks,
         divisorsText(ranks));
  text += fmt::format("{}data={}", text.empty() ? "" : ",", ranks / others);
}

} // namespace

void addMeshOptions(CLI::App &command, CompileOptions &o) {
  Flags flags(command, "Ranks");
  flags.number("--same-bits", o.sameBits, {1, 1 << 20},
               "N, a power of two: sums over a step's rows are trees over N parts, so that all meshes "
               "whose ranks divide N have equal losses, norms and weights to the bit");
  command
      .add_option(
          "--mesh",
          "AXIS=N,...: how the ranks are arranged: replica (whole copies of the state), data (what --zero "
          "cuts), expert (as data, but each has experts of its own), context (positions of the same rows), "
          "tensor (dimensions of single tensors), or pipeline (stages of the model)")
      ->group("Ranks");
  command.add_option("--tensor", "N: short for an axis tensor=N of --mesh")->group("Ranks");
  flags.onOff("--sequence-parallel", o.layouts.sequenceParallel,
              "with an axis tensor, activations between cut products (residuals, norms, dropout) are cut by "
              "rows: on or off; default on");
  flags.word("--tensor-overlap", o.tensorOverlap,
             "with an axis tensor, what is sent runs under gradients of weights, and products are cut into "
             "halves, the collective of one under the product of the other: auto, where that is predicted to "
             "be faster; on, wherever it can be; off, neither; default auto");
  flags.number(
      "--expert-capacity", o.experts.capacity, {0, 1e6, rt::RangeEnds::Above},
      "X, with an axis expert: rows that a rank has room for, as a multiple of those of its own tokens' "
      "places; a step in which more come ends with an error; default: room for the most that can come");
  flags.parsed(
      "--expert-load", o.expertLoad, mesh::ExpertLoad::parse,
      "FILE: rows of each expert, by layer, for predicted times: a JSON list of numbers per layer, an object "
      "of such lists by the layers' names, or the log of a run with --log-experts; default: all experts have "
      "as many");
  command.add_option("--pipeline", "N: short for an axis pipeline=N of --mesh")->group("Ranks");
  flags.parsedList(
      "--shard", o.layouts.shard, mesh::GivenCut::parse,
      "REGEX=tensor:DIM: the ranks along tensor cut this dimension, from 0, of the parameters that REGEX "
      "names; default: as kedge-propagate-shardings chooses");
  flags.add("--configuration", o.givenConfiguration,
            "NAME or none: the device configuration of the file whose annotations are followed; default: the "
            "only one that the ranks fit");
  flags.parsedList(
      "--stage", o.stages.stages, pipeline::StageRule::parse,
      "REGEX=K: the stage of the pipeline, from 0, of the modules that REGEX names; default: equal work");
  flags
      .add("--pipeline-schedule", o.pipeline.schedule,
           "order of micro-batches on the stages: gpipe, 1f1b, interleaved=V (V stages on each rank) or "
           "zero-bubble (gradients of weights fill what a rank would wait); auto: the one whose step is "
           "predicted to be the shortest")
      ->capture_default_str();
  flags.word("--replicas", o.replicas,
             "node: each machine has whole copies of the state, which --zero cuts over its own ranks; "
             "decided at start, for --ranks N");
}

namespace {

/// A rank's parts are micro-batches.
void resolveParts(const CLI::App &command, CompileOptions &o) {
  if (!isGiven(command, "--same-bits"))
    return;
  const int64_t parts = o.sameBits;
  if (parts < 1 || parts > (1 << 20) || (parts & (parts - 1)) != 0)
    fail("--same-bits {}: expected a power of two from 1 to 1048576", parts);
  if (o.model.ranks.size() != 1 || o.replicas)
    fail("--same-bits {}: expected one number of ranks, or a mesh", parts);
  const int64_t ranks = o.model.meshOfRanks().sizeOf(rt::Mesh::kRows);
  if (parts % ranks != 0)
    fail("--same-bits {}: {} ranks do not divide {} parts; numbers that do are {}", parts, ranks, parts,
         divisorsText(parts));
  if (o.onGpu())
    fail("--same-bits {}: not available with --target {}, where the order of sums is NCCL's; expected cpu",
         parts, o.machine.target);
  if (o.syncBatchNorm)
    fail("--same-bits {}: not available with --sync-batchnorm, whose statistics are sums over the rows of "
         "all ranks",
         parts);
  if (o.batchNorm == pipelines::BatchNorm::Exact)
    fail("--same-bits {}: not available with --batchnorm exact, whose statistics are sums over all "
         "micro-batches",
         parts);
  if (!o.plan.maxBatchInput.empty() || !o.plan.maxSeqInput.empty())
    fail("--same-bits {}: not available with --max-batch or --max-seq; give --shape", parts);
  o.parts = parts / ranks;
  o.accumulate *= o.parts;
}

/// What a pipeline does not go together with yet.
void checkPipeline(const CLI::App &command, const CompileOptions &o) {
  const std::string words = meshFlagsOf(command), &schedule = o.pipeline.schedule;
  if (!o.isPipelined()) {
    for (const char *flag : {"--stage", "--pipeline-schedule"})
      if (isGiven(command, flag))
        fail("{}: without an axis 'pipeline' there are no stages; give --mesh pipeline=N with it", flag);
    if (o.plan.rank)
      fail("--rank {}: without an axis 'pipeline' all ranks have one plan; leave it out", *o.plan.rank);
    return;
  }
  if (schedule != "auto" && !pipeline::Schedule::parse(schedule))
    fail("--pipeline-schedule {}: unknown; expected gpipe, 1f1b, interleaved=V with V of 2 or more, "
         "zero-bubble or auto",
         schedule);
  if (const int64_t ranks = o.model.meshOfRanks().size(); o.plan.rank && *o.plan.rank >= ranks)
    fail("--rank {}: {} has {} ranks; expected a number from 0 to {}", *o.plan.rank, words, ranks, ranks - 1);
  if (o.batchNorm == pipelines::BatchNorm::Exact)
    fail("{}: --batchnorm exact is not available yet for a pipeline", words);
}

void resolveAxes(const CLI::App &command, CompileOptions &o) {
  const bool meshed =
      isGiven(command, "--mesh") || isGiven(command, "--tensor") || isGiven(command, "--pipeline");
  if (o.replicas && (meshed || o.model.ranks.size() != 1 || o.model.ranks.front() == 1))
    fail("--replicas {}: expected one number of ranks, --ranks N, and no --mesh, which says itself which "
         "ranks are copies",
         wordOf(*o.replicas));
  if (!meshed)
    return;
  if (o.model.ranks.size() != 1)
    fail("{}: a mesh is of one number of ranks; give one", meshFlagsOf(command));
  std::string text = givenAxes(command);
  parsed(command, text); // before what follows from it
  if (isGiven(command, "--ranks"))
    fillData(command, o, text);
  const rt::Mesh mesh = parsed(command, text);
  if (mesh.size() > 1)
    o.model.mesh = mesh;
  o.model.ranks = {mesh.size()};
}

} // namespace

/// What has not been shown to be right along `tensor` says so.
void checkTensorAxis(const CLI::App &command, const CompileOptions &o) {
  const rt::Mesh mesh = o.model.meshOfRanks();
  if (mesh.sizeOf(rt::Mesh::kTensor) == 1 && isGiven(command, "--sequence-parallel"))
    fail("--sequence-parallel: it is for an axis 'tensor'; give --mesh tensor=N with it, or leave it out");
  if (mesh.sizeOf(rt::Mesh::kTensor) == 1 && isGiven(command, "--tensor-overlap"))
    fail("--tensor-overlap: it is for an axis 'tensor'; give --mesh tensor=N with it, or leave it out");
  if (mesh.sizeOf(rt::Mesh::kTensor) == 1)
    return;
  if (o.sameBits > 0 && !o.model.configuration.empty())
    fail("{}: --same-bits {} is not available yet with layouts of the file's configuration '{}', which may "
         "cut sums; "
         "add --configuration none",
         meshFlagsOf(command), o.sameBits, o.model.configuration);
}

/// What has not been shown to be right along `expert` says so.
static void checkExpertAxis(const CLI::App &command, const CompileOptions &o) {
  const rt::Mesh mesh = o.model.meshOfRanks();
  if (o.countsExperts && (o.isPipelined() || o.joinsMicroBatches()))
    fail("--log-experts: not available yet with a pipeline or --batchnorm exact; leave it out");
  if (mesh.sizeOf(rt::Mesh::kExpert) == 1) {
    if (isGiven(command, "--expert-capacity") && !isGiven(command, "--auto"))
      fail("--expert-capacity: it is for an axis 'expert'; give --mesh expert=N or --auto with it, or leave "
           "it "
           "out");
    return;
  }
  if (o.sameBits > 0)
    fail("{}: --same-bits is not available yet with an axis 'expert'; leave it out", meshFlagsOf(command));
  if (const std::string why = driver::whyNoExpertAxis(o); !why.empty())
    fail("{}: {}", meshFlagsOf(command), why);
}

/// What has not been shown to be right along `context` says so.
static void checkContextAxis(const CLI::App &command, const CompileOptions &o) {
  if (o.model.meshOfRanks().sizeOf(rt::Mesh::kContext) == 1)
    return;
  const rt::Mesh mesh = o.model.meshOfRanks();
  const struct {
    bool given;
    std::string what;
    const char *instead;
  } others[] = {
      {o.onGpu(), "--target " + o.machine.target, "expected cpu"},
      {o.isPipelined(), "an axis 'pipeline'", "give context with replica and data"},
      {mesh.sizeOf(rt::Mesh::kTensor) > 1, "an axis 'tensor'", "give context with replica and data"},
      {mesh.sizeOf(rt::Mesh::kExpert) > 1, "an axis 'expert'", "give context with replica and data"},
      {o.model.documents, "--documents", "leave it out"},
      {o.isFloat8(), "--precision fp8", "expected fp32, bf16 or fp16"},
      {o.loss.kind.rowsTogether() != 1, "a loss of several rows together", "expected a loss of each row"},
      {o.sameBits > 0 || isGiven(command, "--same-bits"), "--same-bits", "leave it out"}};
  for (const auto &[given, what, instead] : others)
    if (given)
      fail("{}: {} is not available yet with an axis 'context'; {}", meshFlagsOf(command), what, instead);
}

/// What the command line and the file say of layouts, each by itself.
static void resolveLayouts(const CLI::App &command, CompileOptions &o) {
  const bool meshed =
      isGiven(command, "--mesh") || isGiven(command, "--tensor") || isGiven(command, "--pipeline");
  driver::chooseConfiguration(
      {meshFlagsOf(command), meshed, isGiven(command, "--ranks"), o.givenConfiguration}, o);
  if (o.layouts.shard.empty())
    return;
  if (o.model.meshOfRanks().sizeOf(rt::Mesh::kTensor) == 1)
    fail("--shard {}: without an axis 'tensor' nothing is cut; give --mesh tensor=N with it",
         o.layouts.shard.front().text());
  if (!o.model.configuration.empty())
    fail("--shard {}: the file's configuration '{}' says how its tensors are cut; add --configuration none "
         "to take what "
         "--shard says",
         o.layouts.shard.front().text(), o.model.configuration);
}

void addRankOption(CLI::App &command, CompileOptions &o) {
  command
      .add_option("--rank", o.plan.rank,
                  "N: of a pipeline, the rank whose plan is meant (by --arena and --launches)")
      ->check(CLI::NonNegativeNumber)
      ->group("Output");
}

void resolveMesh(const CLI::App &command, CompileOptions &o) {
  resolveAxes(command, o);
  resolveLayouts(command, o);
  checkTensorAxis(command, o);
  checkExpertAxis(command, o);
  checkContextAxis(command, o);
  checkPipeline(command, o);
  resolveParts(command, o);
}

} // namespace kedge::tool
