#include "runtime/train/Display.h"
#include "runtime/train/Signals.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace kedge::rt {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Progress that nobody can see ends the run as a signal would: with a checkpoint.
void show(const char *text, int count) {
  if (count > 0 && write(STDERR_FILENO, text, static_cast<size_t>(count)) < 0 && errno != EINTR && errno != EAGAIN)
    noteLostDisplay();
}

/// "loss 3.2104  lr 0.0003  41200 tokens/s  1.21 GB[  eval 3.4]"
int describe(char *text, size_t room, const LogLine &line) {
  int count = std::snprintf(text, room, "loss %.4f", line.loss);
  if (line.lr)
    count += std::snprintf(text + count, room - static_cast<size_t>(count), "  lr %.3g", *line.lr);
  count += std::snprintf(text + count, room - static_cast<size_t>(count), "  %.0f tokens/s  %.2f GB",
                         line.tokensPerSecond, static_cast<double>(line.memoryBytes) / 1e9);
  if (line.skipped)
    count += std::snprintf(text + count, room - static_cast<size_t>(count), "  skipped");
  if (line.evalLoss)
    count +=
        std::snprintf(text + count, room - static_cast<size_t>(count), "  eval loss %.4f", *line.evalLoss);
  for (const MetricValue &metric : line.metrics)
    count += std::snprintf(text + count, room - static_cast<size_t>(count), "  %s %.4f", metricName(metric.kind), metric.value);
  return count;
}

} // namespace

Display::Display(int64_t steps, bool speaks)
    : steps(steps), every(std::max<int64_t>(1, steps / 20)), speaks(speaks), terminal(isatty(STDERR_FILENO) != 0) {}

void Display::step(const LogLine &line) {
  if (!speaks)
    return;
  const bool end = line.step + 1 == steps;
  if (terminal) {
    if (end || line.evalLoss || now() - last > 0.1)
      bar(line);
    return;
  }
  if (!end && !line.evalLoss && line.step % every != 0)
    return;
  char text[256];
  int count = std::snprintf(text, sizeof(text), "step %lld/%lld  ", static_cast<long long>(line.step + 1),
                            static_cast<long long>(steps));
  count += describe(text + count, sizeof(text) - static_cast<size_t>(count), line);
  text[count++] = '\n';
  show(text, count);
}

void Display::bar(const LogLine &line) {
  last = now();
  constexpr int width = 24;
  const int filled = static_cast<int>(width * (line.step + 1) / std::max<int64_t>(1, steps));
  char text[512];
  int count = std::snprintf(text, sizeof(text), "\r[");
  for (int i = 0; i < width; ++i)
    text[count++] = i < filled ? '=' : ' ';
  count += std::snprintf(text + count, sizeof(text) - static_cast<size_t>(count), "] %lld/%lld  ",
                         static_cast<long long>(line.step + 1), static_cast<long long>(steps));
  count += describe(text + count, sizeof(text) - static_cast<size_t>(count), line);
  count += std::snprintf(text + count, sizeof(text) - static_cast<size_t>(count), "\x1b[K");
  show(text, count);
  open = true;
}

void Display::finish() {
  if (open)
    show("\n", 1);
  open = false;
}

} // namespace kedge::rt
