#include "runtime/train/report/Log.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Files.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace kedge::rt {
namespace {

/// Of the terms of a loss: so many fit in a line.
constexpr size_t kLongestName = 120;

/// Text on the stack.
struct Line {
  char text[8192];
  size_t size = 0;

  void add(std::string_view part) {
    const size_t count = std::min(part.size(), sizeof(text) - size);
    std::memcpy(text + size, part.data(), count);
    size += count;
  }
  void key(std::string_view name) {
    add(size == 0 ? "{\"" : ", \"");
    add(name);
    add("\": ");
  }
  /// A name of a file.
  void quoted(std::string_view name) {
    add("\"");
    for (const char &letter : name.substr(0, kLongestName)) {
      if (letter == '"' || letter == '\\')
        add("\\");
      add(static_cast<unsigned char>(letter) < ' ' ? std::string_view("_") : std::string_view(&letter, 1));
    }
    add("\"");
  }
  template <typename T> void number(T value) {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value);
    add({digits, static_cast<size_t>(end.ptr - digits)});
  }
  void real(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) {
      add("null");
      return;
    }
    const size_t begin = size;
    number(*value);
    // A JSON reader keeps 1.0 a float.
    if (std::string_view(text + begin, size - begin).find_first_of(".e") == std::string_view::npos)
      add(".0");
  }
};

/// Where the lines that stay end: before the first one of step `resumeAt` or later, or a torn one.
size_t keptBytes(const std::string &path, int64_t resumeAt) {
  if (!platform::factsOf(path))
    return 0;
  const FileMap file(path, "log");
  const std::string_view all(file.data(), file.size());
  size_t kept = 0;
  while (kept < all.size()) {
    const size_t end = all.find('\n', kept);
    if (end == std::string_view::npos)
      break;
    const auto line = nlohmann::json::parse(all.substr(kept, end - kept), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer() ||
        line["step"].get<int64_t>() >= resumeAt)
      break;
    kept = end + 1;
  }
  return kept;
}

} // namespace

void checkLogFile(const std::string &path) {
  if (const auto there = platform::factsOf(path); there && !there->isRegular)
    fail("--log '{}' is no regular file, expected the place of a file to make or go on with", path);
}

Log::Log(const std::string &path, std::optional<int64_t> resumeAt) : name(path) {
  const size_t kept = resumeAt ? keptBytes(path, *resumeAt) : 0;
  descriptor = platform::openFile(path, platform::Opening::Append);
  if (descriptor < 0)
    fail("cannot open the log '{}': {}", path, std::strerror(errno));
  if (!platform::cutFile(descriptor, kept))
    fail("cannot cut the log '{}': {}", path, std::strerror(errno));
}

Log::~Log() {
  if (descriptor >= 0)
    platform::closeFile(descriptor);
}

static void addExperts(std::string &text, const std::vector<ExpertCounts> &experts) {
  char digits[24];
  for (size_t layer = 0; layer < experts.size(); ++layer) {
    Line name;
    name.quoted(experts[layer].layer);
    text.append(layer == 0 ? "" : ", ").append(name.text, name.size).append(": [");
    for (size_t expert = 0; expert < experts[layer].counts.size(); ++expert) {
      const auto end = std::to_chars(digits, digits + sizeof(digits), experts[layer].counts[expert]);
      text.append(expert == 0 ? "" : ", ").append(digits, static_cast<size_t>(end.ptr - digits));
    }
    text += ']';
  }
}

void Log::write(const LogLine &line) {
  Line text;
  text.key("step");
  text.number(line.step);
  text.key("completed_steps");
  text.number(line.step + 1);
  text.key("loss");
  text.real(line.loss);
  text.key("lr");
  text.real(line.lr);
  text.key("grad_norm");
  text.real(line.gradNorm);
  for (size_t kind = 0; kind < line.stepMetrics.size(); ++kind)
    if (line.stepMetrics[kind]) {
      text.key(abi::kStepMetrics[kind]);
      text.real(line.stepMetrics[kind]);
    }
  if (line.lossTerms.count() != 0) {
    text.key("losses");
    for (size_t term = 0; term < line.lossTerms.count(); ++term) {
      text.add(term == 0 ? "{" : ", ");
      text.quoted((*line.lossTerms.names)[term]);
      text.add(": ");
      text.real(line.lossTerms.values[term]);
    }
    text.add("}");
  }
  text.key("loss_scale");
  text.real(line.lossScale);
  text.key("skipped");
  text.add(line.skipped ? "true" : "false");
  text.key("growth_counter");
  text.number(line.growthCounter);
  text.key("optimizer_steps");
  text.number(line.optimizerSteps);
  text.key("seconds");
  text.real(line.seconds);
  text.key("tokens_per_second");
  text.real(line.countsTokens ? line.perSecond : std::nan(""));
  if (!line.countsTokens) {
    text.key("samples_per_second");
    text.real(line.perSecond);
  }
  if (line.length) {
    text.key("length");
    text.number(*line.length);
    text.key("padding");
    text.real(line.padding);
  }
  text.key("memory_bytes");
  text.number(line.memoryBytes);
  if (line.evalLoss) {
    text.key("eval_loss");
    text.real(line.evalLoss);
    for (const MetricValue &metric : line.metrics) {
      text.key(metricKey(metric.kind));
      text.real(metric.value);
    }
  }
  if (!line.experts) {
    text.add("}\n");
    return append({text.text, text.size}, line.step);
  }
  text.key("experts");
  withExperts.assign(text.text, text.size).append("{");
  addExperts(withExperts, *line.experts);
  withExperts += "}}\n";
  append(withExperts, line.step);
}

void Log::append(std::string_view text, int64_t step) {
  for (size_t done = 0; done < text.size();) {
    const int64_t written = platform::writeNext(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      const int reason = written < 0 ? errno : ENOSPC;
      // No half line stays.
      if (done != 0 && !platform::cutEnd(descriptor, done))
        say(fmt::format("kedge: warning: the log '{}' ends in half a line", name));
      fail("cannot write the log '{}' at step {}: {}; free some space, or name another --log", name, step,
           std::strerror(reason));
    }
    done += static_cast<size_t>(written);
  }
}

} // namespace kedge::rt
