#include "runtime/train/report/TensorBoard.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/platform/Process.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <variant>

namespace kedge::rt {
namespace {

constexpr int64_t kSessionStart = 1; // tensorflow.SessionLog.START
constexpr int64_t kString = 7;       // tensorflow.DT_STRING

/// CRC-32C, turned and moved, as records have it.
uint32_t maskedCrc(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      made[byte] = byte;
      for (int bit = 0; bit < 8; ++bit)
        made[byte] = made[byte] >> 1 ^ (made[byte] & 1 ? 0x82F63B78u : 0);
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/// Fields of a protobuf message.
struct Message {
  std::string bytes;

  Message &varint(uint64_t value) {
    for (; value > 0x7F; value >>= 7)
      bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
    return *this;
  }
  template <typename T> Message &fixed(const T &value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Message &number(int field, int64_t value) {
    return varint(static_cast<uint64_t>(field) << 3).varint(static_cast<uint64_t>(value));
  }
  Message &real(int field, double value) {
    return varint(static_cast<uint64_t>(field) << 3 | 1).fixed(value);
  }
  Message &single(int field, double value) {
    return varint(static_cast<uint64_t>(field) << 3 | 5).fixed(static_cast<float>(value));
  }
  Message &block(int field, std::string_view content) {
    varint(static_cast<uint64_t>(field) << 3 | 2).varint(content.size());
    bytes += content;
    return *this;
  }
};

double wallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// tensorflow.Event: wall_time 1, step 2.
Message eventAt(int64_t step) {
  Message event;
  event.real(1, wallTime()).number(2, step);
  return event;
}

/// tensorflow.Summary.Value: tag 1, metadata 9 (plugin_data 1: plugin_name 1, content 2), tensor 8.
std::string pluginValue(const std::string &tag, const std::string &plugin, const std::string &content,
                        const Message &tensor) {
  Message data, metadata, value;
  data.block(1, plugin).block(2, content);
  metadata.block(1, data.bytes);
  value.block(1, tag).block(9, metadata.bytes).block(8, tensor.bytes);
  return value.bytes;
}

using HyperParameter = std::variant<double, std::string>;

std::map<std::string, HyperParameter> hyperParameters(const Program &program, const RunScalars &scalars) {
  const CompiledOptions &options = program.options;
  return {{"optimizer", options.optimizer},
          {"lr", scalars.lr},
          {"min_lr", scalars.minLr},
          {"schedule", scheduleName(scalars.schedule)},
          {"warmup", static_cast<double>(scalars.warmup)},
          {"weight_decay", scalars.weightDecay},
          {"beta1", scalars.beta1},
          {"beta2", scalars.beta2},
          {"eps", scalars.eps},
          {"clip_norm", options.clipNorm},
          {"seed", static_cast<double>(scalars.seed)},
          {"batch", static_cast<double>(options.batch)},
          {"accumulate", static_cast<double>(options.accumulate)},
          {"ranks", static_cast<double>(program.mesh.size())},
          {"parameters", static_cast<double>(options.parameters)},
          {"target", program.target.kind}};
}

/// tensorboard.hparams.HParamsPluginData: version 1, session_start_info 3 (hparams 1: a map to
/// google.protobuf.Value, whose number_value is 2 and string_value 3; start_time_secs 5).
std::string hyperParameterData(const Program &program, const RunScalars &scalars) {
  Message info, data;
  for (const auto &[name, given] : hyperParameters(program, scalars)) {
    Message value, entry;
    if (const double *number = std::get_if<double>(&given))
      value.real(2, *number);
    else
      value.block(3, std::get<std::string>(given));
    entry.block(1, name).block(2, value.bytes);
    info.block(1, entry.bytes);
  }
  info.real(5, wallTime());
  data.number(1, 0).block(3, info.bytes);
  return data.bytes;
}

void addScalar(Message &summary, std::string_view tag, std::optional<double> value) {
  if (!value || !std::isfinite(*value))
    return;
  Message entry;
  entry.block(1, tag).single(2, *value);
  summary.block(1, entry.bytes);
}

/// tensorflow.HistogramProto: min 1, max 2, num 3, sum 4, sum_squares 5, bucket_limit 6, bucket 7: a bucket
/// for each expert's number.
void addHistogram(Message &summary, std::string_view tag, const std::vector<int64_t> &counts) {
  Message limits, buckets, histogram, entry;
  double all = 0, sum = 0, squares = 0;
  for (size_t expert = 0; expert < counts.size(); ++expert) {
    const auto number = static_cast<double>(expert), count = static_cast<double>(counts[expert]);
    limits.fixed(number + 0.5);
    buckets.fixed(count);
    all += count, sum += count * number, squares += count * number * number;
  }
  histogram.real(1, -0.5)
      .real(2, static_cast<double>(counts.size()) - 0.5)
      .real(3, all)
      .real(4, sum)
      .real(5, squares);
  histogram.block(6, limits.bytes).block(7, buckets.bytes);
  entry.block(1, tag).block(5, histogram.bytes);
  summary.block(1, entry.bytes);
}

std::string fileName(const std::string &folder) {
  return fmt::format("{}/events.out.tfevents.{:010}.{}.{}.kedge", folder, static_cast<int64_t>(wallTime()),
                     platform::hostName(), platform::processId());
}

} // namespace

TensorBoard::TensorBoard(const std::string &folder, std::optional<int64_t> resumeAt)
    : name(fileName(folder)) {
  if (!platform::makeFolders(folder))
    fail("--tensorboard: cannot make the folder '{}': {}", folder, std::strerror(errno));
  descriptor = platform::openFile(name, platform::Opening::Create);
  if (descriptor < 0)
    fail("--tensorboard: cannot make '{}': {}", name, std::strerror(errno));
  Message version; // Event: file_version 3, session_log 7 (status 1)
  version.real(1, wallTime()).block(3, "brain.Event:2");
  record(version.bytes);
  if (resumeAt) {
    Message status;
    status.number(1, kSessionStart);
    record(eventAt(*resumeAt + 1).block(7, status.bytes).bytes);
  }
}

TensorBoard::~TensorBoard() {
  if (descriptor >= 0)
    platform::closeFile(descriptor);
}

void TensorBoard::record(const std::string &event) {
  Message length, whole;
  length.fixed(static_cast<uint64_t>(event.size()));
  whole.bytes = length.bytes;
  whole.fixed(maskedCrc(length.bytes));
  whole.bytes += event;
  whole.fixed(maskedCrc(event));
  for (size_t done = 0; done < whole.bytes.size();) {
    const int64_t written =
        platform::writeNext(descriptor, whole.bytes.data() + done, whole.bytes.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      fail("--tensorboard: '{}' cannot be written: {}", name, std::strerror(written < 0 ? errno : ENOSPC));
    done += static_cast<size_t>(written);
  }
}

void TensorBoard::describe(const Program &program, const RunScalars &scalars) {
  // TensorProto: dtype 1, tensor_shape 2, string_val 8.
  Message nothing, text, summary;
  nothing.number(1, 1).block(2, "");
  text.number(1, kString).block(2, "").block(8, "```\n" + program.plan.dump(1) + "\n```");
  summary.block(1, pluginValue("_hparams_/session_start_info", "hparams",
                               hyperParameterData(program, scalars), nothing));
  summary.block(1, pluginValue("memory plan", "text", "", text));
  record(eventAt(0).block(5, summary.bytes).bytes);
}

void TensorBoard::write(const LogLine &line) {
  Message summary;
  addScalar(summary, "loss", line.loss);
  addScalar(summary, "lr", line.lr);
  addScalar(summary, "grad_norm", line.gradNorm);
  for (size_t kind = 0; kind < line.stepMetrics.size(); ++kind)
    if (line.stepMetrics[kind])
      addScalar(summary, abi::kStepMetrics[kind], line.stepMetrics[kind]);
  for (size_t term = 0; term < line.lossTerms.count(); ++term)
    addScalar(summary, "losses/" + (*line.lossTerms.names)[term], line.lossTerms.values[term]);
  if (line.experts)
    for (const ExpertCounts &layer : *line.experts)
      addHistogram(summary, "experts/" + layer.layer, layer.counts);
  addScalar(summary, "loss_scale", line.lossScale);
  addScalar(summary, "seconds", line.seconds);
  addScalar(summary, line.countsTokens ? "tokens_per_second" : "samples_per_second", line.perSecond);
  addScalar(summary, "memory_bytes", static_cast<double>(line.memoryBytes));
  addScalar(summary, "eval_loss", line.evalLoss);
  if (line.evalLoss)
    for (const MetricValue &metric : line.metrics)
      addScalar(summary, metricKey(metric.kind), metric.value);
  record(eventAt(line.step + 1).block(5, summary.bytes).bytes);
}

} // namespace kedge::rt
