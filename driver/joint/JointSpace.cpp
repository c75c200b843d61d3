#include "driver/joint/JointSpace.h"
#include "driver/options/ExpertAxis.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Divisors.h"
#include "lib/Support/Error.h"
#include <fmt/format.h>
#include <numeric>

namespace kedge::driver {
namespace {

bool isFixed(const CompileOptions &options, const char *flag) { return options.joint.fixed.count(flag) > 0; }

/// What is not available yet along these axes is not chosen from.
bool splitsModels(const CompileOptions &options) { return !options.syncBatchNorm; }

/// Whole copies of the state on groups of ranks, from none to many; then the same for ranks that divide the
/// model, or share out so many experts.
std::vector<std::string> meshesOf(const CompileOptions &options, int64_t experts) {
  const int64_t ranks = options.model.ranks.front();
  if (options.model.mesh || ranks == 1)
    return {options.model.meshOfRanks().text()};
  std::vector<std::string> meshes;
  for (const int64_t stages : divisorsOf(splitsModels(options) ? ranks : 1))
    for (const int64_t blocks : divisorsOf(splitsModels(options) ? ranks / stages : 1)) {
      const int64_t rest = ranks / stages / blocks;
      for (const int64_t copies : divisorsOf(rest))
        if (copies < rest || rest == 1)
          for (const int64_t shares : divisorsOf(std::gcd(stages * blocks == 1 ? experts : 1, rest / copies)))
            meshes.push_back(
                rt::Mesh::parse(fmt::format("pipeline={},replica={},data={},expert={},tensor={}", stages,
                                            copies, rest / copies / shares, shares, blocks))
                    .text());
    }
  return meshes;
}

/// With an axis of several ranks among the meshes: all values, else the given one.
std::vector<std::string> valuesAlong(const char *axis, const std::vector<rt::Mesh> &meshes,
                                     const std::vector<std::string> &values, const std::string &given) {
  for (const rt::Mesh &mesh : meshes)
    if (mesh.sizeOf(axis) > 1)
      return values;
  return {given};
}

std::vector<std::string> stagesOf(const CompileOptions &options) {
  if (isFixed(options, "--zero"))
    return {std::to_string(options.partition.stage)};
  // Weights without masters are whole on every rank.
  if (options.model.ranks.front() == 1 || options.masterWeights == pipelines::MasterWeights::Off)
    return {"0"};
  return {"0", "1", "2", "3"};
}

/// A processor has no other memory than the host's.
std::vector<std::string> offloadsOf(const CompileOptions &options) {
  const analysis::DeviceModel device = analysis::loadDevice(options.deviceName());
  if (isFixed(options, "--offload") || device.isProcessor())
    return {offloadText(options.memory.offload)};
  return {"", "activations", "optimizer", "optimizer,activations", "optimizer,params,activations"};
}

int64_t weightBytes(const model::Model &model) {
  int64_t bytes = 0;
  for (const model::Tensor &tensor : model.graph.initializers)
    bytes += static_cast<int64_t>(tensor.byteSize());
  return bytes;
}

/// One bucket that holds everything is as good as a larger one.
std::vector<std::string> bucketsOf(const CompileOptions &options, const model::Model &model) {
  constexpr int64_t small = 25 << 20, large = 100 << 20;
  if (isFixed(options, "--bucket-bytes") || options.model.ranks.front() == 1)
    return {std::to_string(options.bucketBytes)};
  if (weightBytes(model) <= small)
    return {std::to_string(small)};
  return {std::to_string(small), std::to_string(large)};
}

} // namespace

JointSpace::JointSpace(const CompileOptions &options, const model::Model &model, bool rowsFixed,
                       int64_t experts)
    : options(options) {
  all.resize(kScheduleAxis + 1);
  all[kMeshAxis] = {"mesh", meshesOf(options, whyNoExpertAxis(options).empty() ? experts : 1)};
  all[kZeroAxis] = {"zero", stagesOf(options)};
  all[kPrecisionAxis] = {
      "precision", wordsOf(options.precisions.empty() ? std::vector{options.precision} : options.precisions)};
  all[kOffloadAxis] = {"offload", offloadsOf(options)};
  all[kBucketAxis] = {"bucket_bytes", bucketsOf(options, model)};
  for (const std::string &text : all[kMeshAxis].values)
    meshes.push_back(rt::Mesh::parse(text));
  givenRanks = options.model.meshOfRanks().sizeOf(rt::Mesh::kRows);
  const std::string &layout = options.layouts.sequenceParallel ? "on" : "off",
                    &schedule = options.pipeline.schedule;
  all[kLayoutAxis] = {"sequence_parallel", {layout}};
  if (!isFixed(options, "--sequence-parallel"))
    all[kLayoutAxis].values = valuesAlong(rt::Mesh::kTensor, meshes, {"on", "off"}, layout);
  all[kScheduleAxis] = {"pipeline_schedule", {schedule}};
  if (!isFixed(options, "--pipeline-schedule") || schedule == "auto")
    all[kScheduleAxis].values =
        valuesAlong(rt::Mesh::kPipeline, meshes, {"1f1b", "zero-bubble", "interleaved=2", "gpipe"}, schedule);
  addRows(model, rowsFixed);
}

/// By how much more rows a rank of the mesh has in a step than one of the given mesh: those of all ranks
/// stay.
int64_t JointSpace::stepsPerMicro(const rt::Mesh &mesh) const {
  return std::max<int64_t>(1, givenRanks / mesh.sizeOf(rt::Mesh::kRows));
}

/// Rows of a micro-batch, from the most. The rows of a step are those of --shape times --accumulate, on each
/// of the given ranks.
void JointSpace::addRows(const model::Model &model, bool rowsFixed) {
  all[kRowsAxis].name = "rows";
  const model::ValueInfo *first = model.graph.inputs.empty() ? nullptr : &model.graph.inputs.front();
  const auto given = first ? options.model.shapes.find(first->name) : options.model.shapes.end();
  if (given != options.model.shapes.end() && !given->second.empty())
    rows = given->second.front();
  const bool isOpen = rows > 0 && !rowsFixed && !(first->dims.empty() || first->dims.front().isValue());
  int64_t most = 1;
  for (const rt::Mesh &mesh : meshes)
    most = std::max(most, stepsPerMicro(mesh));
  const std::vector<int64_t> sizes =
      isOpen ? divisorsOf(rows * options.accumulate * most) : std::vector{rows};
  for (size_t i = sizes.size(); i-- > 0;)
    all[kRowsAxis].values.push_back(std::to_string(sizes[i]));
}

std::vector<Offload> JointSpace::offloadOf(const std::string &value) {
  std::vector<Offload> offloads;
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    offloads.push_back(Offload::parse(value.substr(begin, end - begin)));
    begin = end + 1;
  }
  return offloads;
}

bool JointSpace::isChunkFixed() const { return isFixed(options, "--feed-forward-chunk"); }

int64_t JointSpace::rowsOf(const solver::JointChoice &choice) const {
  return std::stoll(value(choice, kRowsAxis));
}

int64_t JointSpace::rowsOfStep(const solver::JointChoice &choice) const {
  return std::max<int64_t>(1, rows) * options.accumulate * stepsPerMicro(meshOf(choice));
}

int64_t JointSpace::accumulateOf(const solver::JointChoice &choice) const {
  return rowsOfStep(choice) / std::max<int64_t>(1, rowsOf(choice));
}

bool JointSpace::isSplit(const solver::JointChoice &choice) const {
  const rt::Mesh &mesh = meshOf(choice);
  return mesh.sizeOf(rt::Mesh::kTensor) > 1 || mesh.sizeOf(rt::Mesh::kPipeline) > 1;
}

bool JointSpace::isUncertain(const solver::JointChoice &choice) const {
  return isSplit(choice) || meshOf(choice).sizeOf(rt::Mesh::kExpert) > 1;
}

/// Copies of whole states are as good along one axis as along another; a value that a mesh has no use for
/// stands once.
bool JointSpace::stands(const solver::JointChoice &choice) const {
  const rt::Mesh &mesh = meshOf(choice);
  const bool isOne = all[kMeshAxis].values.size() == 1, isWhole = value(choice, kZeroAxis) == "0";
  const bool pipelined = mesh.sizeOf(rt::Mesh::kPipeline) > 1, blocks = mesh.sizeOf(rt::Mesh::kTensor) > 1;
  if (isWhole && !isOne && mesh.sizeOf(rt::Mesh::kReplica) > 1)
    return false;
  if (!isWhole && all[kZeroAxis].values.size() > 1 && mesh.sizeOf(rt::Mesh::kParts) == 1)
    return false;
  if (rowsOfStep(choice) % std::max<int64_t>(1, rowsOf(choice)) != 0)
    return false;
  if (pipelined && !isOne && accumulateOf(choice) == 1)
    return false;
  return (blocks || choice[kLayoutAxis] == 0) && (pipelined || choice[kScheduleAxis] == 0);
}

std::vector<solver::JointChoice> JointSpace::choices() const {
  return solver::choicesOf(all, [&](const solver::JointChoice &choice) { return stands(choice); });
}

CompileOptions JointSpace::optionsOf(const solver::JointChoice &choice) const {
  CompileOptions one = options;
  one.joint = {};
  one.trial = Trial::Silent;
  one.memory.frontier = one.plan.compare = false;
  one.output.arenaFile.clear(), one.output.launchFile.clear(), one.output.report.clear();
  const rt::Mesh &mesh = meshOf(choice);
  if (mesh.sizeOf(rt::Mesh::kData) != mesh.size())
    one.model.mesh = mesh;
  one.layouts.sequenceParallel = value(choice, kLayoutAxis) == "on";
  one.pipeline.schedule = value(choice, kScheduleAxis);
  one.partition.stage = std::stoll(value(choice, kZeroAxis));
  one.accumulate = accumulateOf(choice);
  if (rows > 0)
    for (auto &[name, shape] : one.model.shapes)
      if (!shape.empty() && shape.front() == rows)
        shape.front() = rowsOf(choice);
  one.precision = valueOf<pipelines::Precision>(value(choice, kPrecisionAxis));
  one.precisions = {one.precision};
  one.memory.offload = offloadOf(value(choice, kOffloadAxis));
  one.bucketBytes = std::stoll(value(choice, kBucketAxis));
  if (!one.memory.plan.budget.isGiven())
    one.memory.plan.budget.kind = MemoryBudget::Kind::Device;
  return one;
}

} // namespace kedge::driver
