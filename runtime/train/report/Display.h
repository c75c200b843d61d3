// What a user sees during a run: a progress bar on a terminal, otherwise some lines.
#pragma once
#include "runtime/train/report/Log.h"

namespace kedge::rt {

/// Estimates the remaining time from the steps so far. The first step is slower
/// than the others (pages, caches), so it is ignored as soon as there is a second.
class TimeLeft {
public:
  explicit TimeLeft(double start) : last(start) {}
  /// Call after a step and its evaluation.
  void step(double now) {
    (done++ == 0 ? first : others) += now - last;
    last = now;
  }
  double seconds(int64_t steps) const {
    const double each = done == 1 ? first : others / static_cast<double>(done - 1);
    return done == 0 ? 0 : each * static_cast<double>(steps);
  }

private:
  double last, first = 0, others = 0;
  int64_t done = 0;
};

class Display {
public:
  /// `steps`: the total of the run. `countsTokens`: show
  /// tokens, otherwise samples. `speaks`: false shows nothing.
  Display(int64_t steps, bool countsTokens, bool speaks);
  /// Shows what is about to be trained, on a terminal only.
  void begin(const char *text);
  /// Allocates nothing.
  void step(const LogLine &line);
  /// Ends the line of the progress bar, so that other text starts on a new line.
  void finish();

private:
  void bar(const LogLine &line);
  void keep(const LogLine &line);
  int64_t steps, every;
  bool countsTokens, speaks, terminal, open = false;
  TimeLeft left;
  double last = -1;
};

/// "1:02:03", "2:03".
void writeDuration(char *text, size_t room, double seconds);

/// Writes a bar and as many facts as fit in `columns`, the most important first; no line end.
void writeBar(char *text, size_t room, int columns, const LogLine &line, int64_t steps, bool countsTokens,
              const char *left);

} // namespace kedge::rt
