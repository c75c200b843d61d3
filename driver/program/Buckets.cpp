#include "driver/program/Buckets.h"
#include "driver/plan/BucketPlan.h"
#include "driver/program/ProgramBuilder.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Export/Program/Buckets.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include <fmt/ranges.h>

namespace kedge::driver {
namespace {

using nlohmann::json;
namespace key = abi::key;

/// "input_ids=8x{128,512}", of the first input.
std::string given(const ModelOptions &model) {
  const auto &[name, shapes] = *model.buckets.begin();
  std::vector<std::string> sizes;
  for (size_t axis = 0; axis < shapes.front().size(); ++axis) {
    std::vector<int64_t> along;
    for (const std::vector<int64_t> &shape : shapes)
      along.push_back(shape[axis]);
    sizes.push_back(along.front() == along.back() ? fmt::format("{}", along.front())
                                                  : fmt::format("{{{}}}", fmt::join(along, ",")));
  }
  return fmt::format("--shape {}={}", name, fmt::join(sizes, "x"));
}

/// What the first of them is in bucket `at`: its first size that differs between buckets.
std::string lengthOf(const ModelOptions &model, size_t at) {
  const auto &shapes = model.buckets.begin()->second;
  size_t axis = 0;
  while (shapes.front()[axis] == shapes.back()[axis])
    ++axis;
  return fmt::format("{}", shapes[at][axis]);
}

/// What a program with buckets cannot be or do yet.
void checkBuckets(const CompileOptions &options) {
  const auto refuse = [&](bool isGiven, const std::string &flag) {
    if (isGiven)
      fail("{}: sizes in {{}} are not available yet with {}; leave it out, or give one size",
           given(options.model), flag);
  };
  refuse(options.onGpu(), fmt::format("--target {}", options.machine.target));
  refuse(options.isPipelined(), "a pipeline");
  refuse(options.model.ranks.size() > 1, "several numbers in --ranks");
  refuse(options.replicas.has_value(), "--replicas");
  refuse(options.sameBits != 0, fmt::format("--same-bits {}", options.sameBits));
  refuse(!options.memory.offload.empty(), "--offload");
  refuse(options.model.documents, "--documents");
  refuse(options.joint.on, "--auto");
  refuse(!options.output.saveIr.empty(), fmt::format("--save-ir {}", options.output.saveIr));
  refuse(!options.output.report.empty(), fmt::format("--report {}", options.output.report));
  refuse(options.output.printPipeline, "--print-pipeline");
  refuse(options.output.emit != Emit::Exe, std::string("--emit ") + wordOf(options.output.emit));
  refuse(!options.output.arenaFile.empty(), "--arena");
  refuse(!options.output.launchFile.empty(), "--launches");
  refuse(options.plan.compare, "--compare");
  refuse(options.memory.frontier, "--frontier");
  refuse(!options.plan.checkFile.empty(), "--check");
  refuse(!options.plan.maxBatchInput.empty(), "--max-batch");
  refuse(!options.plan.maxSeqInput.empty(), "--max-seq");
  refuse(options.model.loss && !(*options.model.loss == LossFunction::CrossEntropy),
         "--loss " + (options.model.loss ? options.model.loss->text() : ""));
  refuse(!options.model.lossOutput.all.empty(), "--loss-output");
}

/// The names of kernels are those of the objects: a kernel that another bucket has is not there twice.
ProgramParts renamed(ProgramParts parts, const AmongPrograms &among, const KernelLevels &levels) {
  const std::string suffix = levels.suffixes().front();
  json program = json::parse(parts.json);
  for (auto &[name, function] : program[key::functions].items())
    for (json &launch : function[key::launches]) {
      if (!launch.contains(key::kernel))
        continue;
      const std::string kernel = launch[key::kernel];
      const auto shared = parts.shared.find(kernel + suffix);
      launch[key::kernel] = shared == parts.shared.end()
                                ? among.prefix + kernel
                                : shared->second.substr(0, shared->second.size() - suffix.size());
    }
  parts.json = program.dump();
  return parts;
}

exporter::ProgramImageParts imageOf(const ProgramParts &parts) {
  return {json::parse(parts.json), parts.data};
}

} // namespace

std::vector<BucketOptions> bucketsOf(const CompileOptions &options) {
  checkBuckets(options);
  std::vector<BucketOptions> all;
  for (size_t at = options.model.buckets.begin()->second.size(); at-- > 0;) {
    CompileOptions one = options;
    one.model.buckets.clear();
    for (const auto &[name, shapes] : options.model.buckets)
      one.model.shapes[name] = shapes[at];
    one.setRepeats(!all.empty()); // notes are the same
    all.push_back({lengthOf(options.model, at), std::move(one)});
  }
  return all;
}

int compileBuckets(const CompileOptions &options, lower::KernelCache &cache) {
  const KernelLevels levels(options.machine.cpus);
  std::map<std::string, std::string> knownKernels;
  std::vector<exporter::Bucket> others;
  ProgramParts whole;
  BucketPlan plan(options);
  std::vector<BucketOptions> buckets = bucketsOf(options);
  for (BucketOptions &bucket : buckets) {
    const bool isLongest = &bucket == &buckets.front();
    plan.takeFromLongest(bucket.options);
    Compilation compilation(bucket.options);
    compilation.import();
    compilation.step();
    compilation.schedule();
    compilation.lower();
    if (!plan.add(bucket, compilation))
      return 2;
    const AmongPrograms among{isLongest ? "" : fmt::format("b{}.", bucket.length), &knownKernels};
    ProgramParts parts =
        renamed(ProgramBuilder(compilation, bucket.options, cache.files(), among).parts(), among, levels);
    if (isLongest) {
      whole = std::move(parts);
      continue;
    }
    others.push_back({bucket.length, imageOf(parts)});
    std::move(parts.kernels.begin(), parts.kernels.end(), std::back_inserter(whole.kernels));
    whole.names.insert(whole.names.end(), parts.names.begin(), parts.names.end());
    whole.registrations.merge(parts.registrations);
  }
  if (!plan.fits())
    return 2;
  exporter::ProgramImageParts image = imageOf(whole);
  joinBuckets(image, others);
  image.json[key::plan] = plan.report();
  if (image.json[key::arena][key::bytes] != image.json[key::plan]["arena_bytes"])
    fail("{}: the arena of all buckets has {} bytes, and {} were planned", given(options.model),
         image.json[key::arena][key::bytes].dump(), image.json[key::plan]["arena_bytes"].dump());
  whole.json = image.json.dump();
  whole.data = std::move(image.data);
  linkParts(whole, options, options.output.path);
  return 0;
}

} // namespace kedge::driver
