#include "runtime/train/report/Display.h"
#include "runtime/platform/Terminal.h"
#include "runtime/train/Signals.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr size_t kRoom = 512; // of a line

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Progress that nobody can see ends the run as a signal would: with a checkpoint.
void show(const char *text, size_t count) {
  if (count > 0 && !platform::writeError(text, count))
    noteLostDisplay();
}
void show(const char *text) { show(text, std::strlen(text)); }

/// Appends to a text that has room; what does not fit is cut.
template <typename... Args> void append(char *text, size_t room, const char *format, Args... args) {
  const size_t used = std::strlen(text);
  std::snprintf(text + used, room - used, format, args...);
}

void appendMemory(char *text, size_t room, uint64_t bytes) {
  const double amount = static_cast<double>(bytes);
  if (amount < 1e7)
    append(text, room, "%.2f MB", amount / 1e6);
  else
    append(text, room, "%.2f GB", amount / 1e9);
}

void appendEvaluation(char *text, size_t room, const LogLine &line) {
  if (line.evalLoss)
    append(text, room, "  eval loss %.4f", *line.evalLoss);
  for (const MetricValue &metric : line.metrics)
    append(text, room, "  %s %.4f", metricName(metric.kind), metric.value);
}

/// "loss 3.2104  lr 0.0003  41200 tokens/s  1.21 GB[  eval 3.4]"
void describe(char *text, size_t room, const LogLine &line, bool countsTokens) {
  append(text, room, "loss %.4f", line.loss);
  if (line.lr)
    append(text, room, "  lr %.3g", *line.lr);
  append(text, room, "  %.0f %s/s  ", line.perSecond, countsTokens ? "tokens" : "samples");
  appendMemory(text, room, line.memoryBytes);
  if (line.skipped)
    append(text, room, "  skipped");
  appendEvaluation(text, room, line);
}

} // namespace

void writeDuration(char *text, size_t room, double seconds) {
  const auto rest = static_cast<long long>(std::ceil(seconds));
  if (rest >= 3600)
    std::snprintf(text, room, "%lld:%02lld:%02lld", rest / 3600, rest / 60 % 60, rest % 60);
  else
    std::snprintf(text, room, "%lld:%02lld", rest / 60, rest % 60);
}

void writeBar(char *text, size_t room, int columns, const LogLine &line, int64_t steps, bool countsTokens,
              const char *left) {
  constexpr int kFacts = 6, kShortest = 6, kLongest = 24;
  char facts[kFacts][48] = {}; // as they stand in the line
  append(facts[0], 48, "%lld/%lld", static_cast<long long>(line.step) + 1, static_cast<long long>(steps));
  append(facts[1], 48, line.skipped ? "skipped" : "loss %.4f", line.loss);
  if (line.lr)
    append(facts[2], 48, "lr %.3g", *line.lr);
  append(facts[3], 48, "%.0f %s/s", line.perSecond, countsTokens ? "tokens" : "samples");
  appendMemory(facts[4], 48, line.memoryBytes);
  if (left[0])
    append(facts[5], 48, "%s left", left);
  bool shown[kFacts] = {};
  int free = columns - 1; // the last column would wrap
  for (const int fact : {0, 1, 5, 3, 2, 4}) {
    const int length = static_cast<int>(std::strlen(facts[fact]));
    shown[fact] = length > 0 && length + 2 <= free;
    free -= shown[fact] ? length + 2 : 0;
  }
  text[0] = 0;
  const int width = std::min(kLongest, free - 2);
  if (width >= kShortest) {
    const int filled = static_cast<int>(width * (line.step + 1) / std::max<int64_t>(1, steps));
    append(text, room, "[%.*s%*s]", filled, "========================", width - filled, "");
  }
  for (int fact = 0; fact < kFacts; ++fact)
    if (shown[fact])
      append(text, room, "%s%s", text[0] ? "  " : "", facts[fact]);
}

Display::Display(int64_t steps, bool countsTokens, bool speaks)
    : steps(steps), every(std::max<int64_t>(1, steps / 20)), countsTokens(countsTokens), speaks(speaks),
      terminal(platform::errorIsTerminal()), left(now()) {}

void Display::begin(const char *text) {
  if (!speaks || !terminal)
    return;
  show(text);
  show("\n");
}

void Display::step(const LogLine &line) {
  if (!speaks)
    return;
  const bool end = line.step + 1 == steps;
  left.step(now());
  if (terminal) {
    if (line.evalLoss)
      keep(line);
    if (end || line.evalLoss || now() - last > 0.1)
      bar(line);
    return;
  }
  if (!end && !line.evalLoss && line.step % every != 0)
    return;
  char text[kRoom] = "";
  append(text, sizeof(text), "step %lld/%lld  ", static_cast<long long>(line.step) + 1,
         static_cast<long long>(steps));
  describe(text, sizeof(text) - 1, line, countsTokens);
  append(text, sizeof(text), "\n");
  show(text);
}

/// An evaluation stays above the bar.
void Display::keep(const LogLine &line) {
  char text[kRoom] = "";
  append(text, sizeof(text), "step %lld/%lld  loss %.4f", static_cast<long long>(line.step) + 1,
         static_cast<long long>(steps), line.loss);
  appendEvaluation(text, sizeof(text), line);
  text[std::min<size_t>(static_cast<size_t>(platform::terminalColumns() - 1), std::strlen(text))] = 0;
  show("\r");
  show(text);
  show("\x1b[K\n");
}

void Display::bar(const LogLine &line) {
  last = now();
  char rest[32] = "", text[kRoom];
  if (line.step + 1 < steps)
    writeDuration(rest, sizeof(rest), left.seconds(steps - line.step - 1));
  writeBar(text, sizeof(text), platform::terminalColumns(), line, steps, countsTokens, rest);
  show("\r");
  show(text);
  show("\x1b[K");
  open = true;
}

void Display::finish() {
  if (open)
    show("\n");
  open = false;
}

} // namespace kedge::rt
