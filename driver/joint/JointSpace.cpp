#include "driver/joint/JointSpace.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include <fmt/format.h>

namespace kedge::driver {
namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t size = 1; size <= number; ++size)
    if (number % size == 0)
      divisors.push_back(size);
  return divisors;
}

bool isFixed(const CompileOptions &options, const char *flag) { return options.joint.fixed.count(flag) > 0; }

/// Whole copies of the state on groups of ranks, from none to many.
std::vector<std::string> meshesOf(const CompileOptions &options) {
  const int64_t ranks = options.model.ranks.front();
  if (!options.model.mesh.empty() || ranks == 1)
    return {options.model.meshOfRanks().text()};
  std::vector<std::string> meshes;
  for (const int64_t copies : divisorsOf(ranks))
    if (copies < ranks)
      meshes.push_back(rt::Mesh::parse(fmt::format("replica={},data={}", copies, ranks / copies)).text());
  return meshes;
}

std::vector<std::string> stagesOf(const CompileOptions &options) {
  if (isFixed(options, "--zero"))
    return {std::to_string(options.partition.stage)};
  // Weights without masters are whole on every rank.
  if (options.model.ranks.front() == 1 || options.masterWeights == "off")
    return {"0"};
  return {"0", "1", "2", "3"};
}

std::string offloadText(const std::vector<std::string> &kinds) {
  std::string text;
  for (const std::string &kind : kinds)
    text += (text.empty() ? "" : ",") + kind;
  return text;
}

/// A processor has no other memory than the host's.
std::vector<std::string> offloadsOf(const CompileOptions &options) {
  const analysis::DeviceModel device =
      options.deviceName().empty() ? analysis::thisMachine() : analysis::loadDevice(options.deviceName());
  if (isFixed(options, "--offload") || device.isProcessor())
    return {offloadText(options.offload)};
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

JointSpace::JointSpace(const CompileOptions &options, const model::Model &model, bool rowsFixed)
    : options(options) {
  all.resize(kBucketAxis + 1);
  all[kMeshAxis] = {"mesh", meshesOf(options)};
  all[kZeroAxis] = {"zero", stagesOf(options)};
  all[kPrecisionAxis] = {"precision",
                         options.precisions.empty() ? std::vector{options.precision} : options.precisions};
  all[kOffloadAxis] = {"offload", offloadsOf(options)};
  all[kBucketAxis] = {"bucket_bytes", bucketsOf(options, model)};
  addRows(model, rowsFixed);
}

/// Rows of a micro-batch, from the most. The rows of a step are those of --shape times --accumulate.
void JointSpace::addRows(const model::Model &model, bool rowsFixed) {
  all[kRowsAxis].name = "rows";
  const model::ValueInfo *first = model.graph.inputs.empty() ? nullptr : &model.graph.inputs.front();
  const auto given = first ? options.model.shapes.find(first->name) : options.model.shapes.end();
  if (given != options.model.shapes.end() && !given->second.empty())
    rows = given->second.front();
  const bool isOpen = rows > 0 && !rowsFixed && !(first->dims.empty() || first->dims.front().isValue());
  const std::vector<int64_t> sizes = isOpen ? divisorsOf(rows * options.accumulate) : std::vector{rows};
  for (size_t i = sizes.size(); i-- > 0;)
    all[kRowsAxis].values.push_back(std::to_string(sizes[i]));
}

std::vector<std::string> JointSpace::offloadOf(const std::string &value) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    words.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

rt::Mesh JointSpace::meshOf(const solver::JointChoice &choice) const {
  return rt::Mesh::parse(value(choice, kMeshAxis));
}

int64_t JointSpace::rowsOf(const solver::JointChoice &choice) const {
  return std::stoll(value(choice, kRowsAxis));
}

int64_t JointSpace::accumulateOf(const solver::JointChoice &choice) const {
  return rows == 0 ? options.accumulate : rows * options.accumulate / rowsOf(choice);
}

/// Copies of whole states are as good along one axis as along another.
bool JointSpace::stands(const solver::JointChoice &choice) const {
  return value(choice, kZeroAxis) != "0" || choice[kMeshAxis] == 0;
}

std::vector<solver::JointChoice> JointSpace::choices() const {
  return solver::choicesOf(all, [&](const solver::JointChoice &choice) { return stands(choice); });
}

CompileOptions JointSpace::optionsOf(const solver::JointChoice &choice) const {
  CompileOptions one = options;
  one.joint = {};
  one.isTrial = true;
  one.frontier = one.compare = false;
  one.arenaFile.clear(), one.launchFile.clear(), one.report.clear();
  const rt::Mesh mesh = meshOf(choice);
  if (mesh.axes().size() > 1)
    one.model.mesh = mesh.text();
  one.partition.stage = std::stoll(value(choice, kZeroAxis));
  one.accumulate = accumulateOf(choice);
  if (rows > 0)
    for (auto &[name, shape] : one.model.shapes)
      if (!shape.empty() && shape.front() == rows)
        shape.front() = rowsOf(choice);
  one.precision = value(choice, kPrecisionAxis);
  one.precisions = {one.precision};
  one.offload = offloadOf(value(choice, kOffloadAxis));
  one.bucketBytes = std::stoll(value(choice, kBucketAxis));
  if (one.memoryBudget.empty())
    one.memoryBudget = "device";
  return one;
}

} // namespace kedge::driver
