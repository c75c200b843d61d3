#include "driver/deepspeed/DeepSpeedConfig.h"
#include "driver/deepspeed/DeepSpeedMapping.h"
#include "lib/Support/MemoryBudget.h"
#include "runtime/program/NumberFlags.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::driver {
namespace {

std::vector<std::string> parts(const std::string &list) {
  std::vector<std::string> result(1);
  for (char c : list)
    if (c == ',')
      result.emplace_back();
    else
      result.back() += c;
  return result;
}

std::optional<double> quantity(const std::string &text) {
  if (const std::optional<double> value = rt::decimalIn(text))
    return value;
  try {
    return static_cast<double>(parseBytes(text));
  } catch (const Error &) {
    return std::nullopt;
  }
}

/// 25MiB and 26214400, 1e-3 and 0.001 are one value.
bool isSame(const std::string &a, const std::string &b) {
  std::vector<std::string> left = parts(a), right = parts(b);
  if (left.size() != right.size())
    return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i] != right[i] && (!quantity(left[i]) || quantity(left[i]) != quantity(right[i])))
      return false;
  return true;
}

/// Of an element.
int64_t bytesOf(const std::string &type) { return type == "fp32" ? 4 : 2; }

std::string flagText(const std::string &flag, const std::string &value) {
  return value.empty() ? flag : flag + " " + value;
}

} // namespace

DeepSpeedConfig::DeepSpeedConfig(const std::string &path, const SavedArguments &given) {
  DeepSpeedFile file(path);
  DeepSpeedMapping mapping(file, given);
  mapping.run();
  added = std::move(mapping.added);
  rows = mapping.microBatch;
  lines = file.text();
}

DeepSpeedMapping::DeepSpeedMapping(DeepSpeedFile &file, const SavedArguments &given)
    : file(file), given(given), top(file, &file.root(), "") {}

/// Precision first: DeepSpeed's sizes count elements, and it says how many bytes these have.
void DeepSpeedMapping::run() {
  precision();
  communication();
  batch();
  zero();
  scheduler();
  optimizer();
  checkpointing();
  top.finish();
}

std::optional<std::string> DeepSpeedMapping::givenValue(const std::string &flag) const {
  for (const auto &[name, values] : given)
    if (name == flag)
      return values.empty() ? "" : values.back();
  return std::nullopt;
}

void DeepSpeedMapping::apply(DeepSpeedSection &section, const char *key, const std::string &flag,
                             const std::string &value) {
  std::optional<std::string> was = givenValue(flag);
  if (was && !isSame(*was, value))
    file.refuse(fmt::format("'{}' {} means {}, but {} was given; leave one of them out, or make them agree",
                            section.pathOf(key), section.valueOf(key), flagText(flag, value),
                            flagText(flag, *was)));
  if (!was)
    added.push_back({flag, {value}});
  section.say(key, fmt::format("applied: {}{}", flagText(flag, value), was ? ", as was given" : ""));
}

void DeepSpeedMapping::applyDefault(DeepSpeedSection &section, const char *key, const std::string &flag,
                                    const std::string &value) {
  if (section.has(key) || givenValue(flag))
    return;
  added.push_back({flag, {value}});
  section.say(key, fmt::format("not in the file: DeepSpeed's default is applied: {}", flagText(flag, value)));
}

std::string DeepSpeedMapping::weightType() const {
  return givenValue("--precision-policy") == "autocast" ? "fp32" : working;
}

std::string DeepSpeedMapping::gradientType() const {
  for (const auto &[flag, values] : added)
    if (flag == "--grad-dtype")
      return values.front();
  return givenValue("--grad-dtype").value_or(weightType());
}

/// Those with rows of their own: ranks along `tensor` and `pipeline` have the same ones.
int64_t DeepSpeedMapping::ranks() const {
  const std::optional<std::string> given = givenValue("--mesh");
  const rt::Mesh mesh = given ? rt::Mesh::parse(*given) : rt::Mesh::ofData(1);
  if (!givenValue("--ranks"))
    return mesh.sizeOf(rt::Mesh::kRows);
  std::string text = givenValue("--ranks").value_or("1");
  if (text.find(',') != std::string::npos)
    file.refuse(fmt::format(
        "'train_batch_size' is for one number of ranks, but --ranks {} was given; give one, or leave the key "
        "out",
        text));
  int64_t alike = mesh.sizeOf(rt::Mesh::kTensor) * mesh.sizeOf(rt::Mesh::kPipeline);
  for (const char *axis : {"--tensor", "--pipeline"})
    if (int64_t size = 0; !llvm::StringRef(givenValue(axis).value_or("")).getAsInteger(10, size) && size > 0)
      alike *= size; // what is no number is told with the mesh
  return std::max<int64_t>(1, std::stoll(text) / alike);
}

void DeepSpeedMapping::batch() {
  std::optional<int64_t> whole = top.count("train_batch_size", 1),
                         accumulate = top.count("gradient_accumulation_steps", 1);
  microBatch = top.count("train_micro_batch_size_per_gpu", 1);
  if (accumulate)
    apply(top, "gradient_accumulation_steps", "--accumulate", std::to_string(*accumulate));
  else if (std::optional<std::string> was = givenValue("--accumulate"))
    accumulate = std::stoll(*was);
  if (whole) {
    const int64_t n = ranks();
    const bool derives = microBatch && !accumulate && *whole % (*microBatch * n) == 0;
    if (derives && *whole / (*microBatch * n) > 1)
      added.push_back({"--accumulate", {std::to_string(*whole / (*microBatch * n))}});
    if (derives)
      accumulate = *whole / (*microBatch * n);
    if (!microBatch && *whole % (accumulate.value_or(1) * n) == 0)
      microBatch = *whole / (accumulate.value_or(1) * n);
    const int64_t micro = microBatch.value_or(0), steps = accumulate.value_or(1);
    if (micro * steps * n != *whole)
      top.refuse(
          "train_batch_size",
          micro == 0
              ? fmt::format(
                    "a multiple of {} (accumulation {} x {} ranks); mend it, or give another --ranks N",
                    steps * n, steps, n)
              : fmt::format(
                    "micro-batch {} x accumulation {} x {} ranks = {}; mend one of them, or give another "
                    "--ranks N",
                    micro, steps, n, micro * steps * n));
    top.say("train_batch_size",
            fmt::format("checked: micro-batch {} x accumulation {} (--accumulate) x {} ranks (--ranks)",
                        micro, steps, n));
  }
  if (microBatch && givenValue("--max-batch"))
    file.refuse(
        fmt::format("a micro-batch of {} rows is asked for, but --max-batch looks for the largest one; leave "
                    "'train_batch_size' and 'train_micro_batch_size_per_gpu' out, or --max-batch",
                    *microBatch));
  if (top.has("train_micro_batch_size_per_gpu") && microBatch)
    top.say("train_micro_batch_size_per_gpu", "checked: --shape gives a micro-batch its rows");
}

void DeepSpeedMapping::zero() {
  DeepSpeedSection zero = top.section("zero_optimization");
  if (std::optional<int64_t> stage = zero.count("stage"); stage && *stage > 3)
    zero.refuse("stage", "0, 1, 2 or 3");
  else if (stage)
    apply(zero, "stage", "--zero", std::to_string(*stage));
  buckets(zero);
  offload(zero, "offload_optimizer", "optimizer");
  offload(zero, "offload_param", "params");
  zero.only("zero_quantized_weights", false, "Kedge sends parameters in their own type; leave it out");
  zero.only("zero_quantized_gradients", false, "Kedge sends gradients in their own type; leave it out");
  zero.finish();
}

/// DeepSpeed's sizes count elements, Kedge's bytes.
void DeepSpeedMapping::buckets(DeepSpeedSection &zero) {
  std::optional<int64_t> reduce = zero.count("reduce_bucket_size"),
                         gather = zero.count("allgather_bucket_size");
  if (reduce)
    apply(zero, "reduce_bucket_size", "--bucket-bytes", std::to_string(*reduce * bytesOf(gradientType())));
  if (gather && reduce)
    zero.say("allgather_bucket_size", "no effect here: --bucket-bytes, which reduce_bucket_size sets, bounds "
                                      "the buckets of all-gathers, too");
  else if (gather)
    apply(zero, "allgather_bucket_size", "--bucket-bytes", std::to_string(*gather * bytesOf(weightType())));
  if (std::optional<int64_t> persist = zero.count("stage3_param_persistence_threshold"))
    apply(zero, "stage3_param_persistence_threshold", "--persist-bytes",
          std::to_string(*persist * bytesOf(weightType())));
}

/// "=DIR", as --offload has it.
static std::string directoryOf(DeepSpeedSection &section) {
  const std::optional<std::string> path = section.word("nvme_path");
  if (!path || path->empty() || path->find(',') != std::string::npos)
    section.refuse("device", "\"nvme\" with a directory without commas as 'nvme_path'");
  section.say("nvme_path", "applied: every process makes a file there");
  return "=" + *path;
}

void DeepSpeedMapping::offload(DeepSpeedSection &zero, const char *key, const char *what) {
  DeepSpeedSection section = zero.section(key);
  if (std::optional<std::string> device = section.word("device")) {
    if (*device != "none" && *device != "cpu" && *device != "nvme")
      section.refuse("device", "\"none\", \"cpu\" or \"nvme\"");
    const bool isFile = *device == "nvme";
    addOffload(section, "device", what + (isFile ? directoryOf(section) : std::string()), *device != "none");
  }
  if (std::optional<double> ratio = section.number("ratio")) {
    if (*ratio != 1)
      section.refuse("ratio", "1: --offload optimizer moves all of it; leave it out");
    section.say("ratio", "applied: all of it moves");
  }
  section.finish();
}

void DeepSpeedMapping::addOffload(DeepSpeedSection &section, const char *key, const std::string &what,
                                  bool wanted) {
  std::optional<std::string> was = givenValue("--offload");
  std::vector<std::string> list = parts(was.value_or(""));
  const bool isGiven = std::find(list.begin(), list.end(), what) != list.end();
  if (was && isGiven != wanted)
    file.refuse(fmt::format("'{}' {} means {} --offload {}, but --offload {} was given; make them agree",
                            section.pathOf(key), section.valueOf(key), wanted ? "an" : "no", what, *was));
  if (!wanted)
    return section.say(key, fmt::format("applied: no --offload {}", what));
  section.say(key, fmt::format("applied: --offload {}{}", what, was ? ", as was given" : ""));
  if (was)
    return;
  for (auto &[flag, values] : added)
    if (flag == "--offload")
      return void(values.front() += "," + what);
  added.push_back({"--offload", {what}});
}

/// DeepSpeed casts gradients to this type, reduces them and casts them back. Sums are made in fp32 here
/// anyway.
void DeepSpeedMapping::communication() {
  std::optional<std::string> type = top.word("communication_data_type");
  if (!type)
    return;
  if (*type != "fp32" && *type != "fp16" && *type != "bf16")
    top.refuse("communication_data_type", "\"fp32\", \"fp16\" or \"bf16\"");
  const std::string sent = gradientType();
  if (*type == sent)
    top.say("communication_data_type",
            "applied: gradients are sent in this type, summed in fp32 and rounded once");
  else if (*type == "fp32")
    top.say(
        "communication_data_type",
        fmt::format("applied: sums over ranks are made in fp32 and rounded once, to {}, the gradients' type",
                    sent));
  else
    apply(top, "communication_data_type", "--grad-dtype", *type);
}

void DeepSpeedMapping::checkpointing() {
  DeepSpeedSection section = top.section("activation_checkpointing");
  if (!section.exists())
    return;
  std::optional<int64_t> number = section.count("number_checkpoints", 1);
  if (number)
    apply(section, "number_checkpoints", "--recompute", fmt::format("segments={}", *number));
  if (std::optional<bool> onHost = section.flag("cpu_checkpointing"))
    addOffload(section, "cpu_checkpointing", "activations", *onHost);
  section.finish();
  if (!number && !givenValue("--recompute") && !givenValue("--memory-budget"))
    top.ask("activation_checkpointing",
            "DeepSpeed leaves to the model's code what is computed again; give --recompute or "
            "--memory-budget");
}

} // namespace kedge::driver
