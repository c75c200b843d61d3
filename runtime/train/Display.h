// What a person sees of a run: a progress bar on a terminal, some lines elsewhere.
#pragma once
#include "runtime/train/Log.h"

namespace kedge::rt {

/// How long a run will go on, judged by its steps so far. The first is slower than the others (pages, caches), so it counts only
/// while it is alone.
class TimeLeft {
public:
  explicit TimeLeft(double start) : last(start) {}
  /// A step has ended, with its evaluation.
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
  /// `steps` of the run in all; `countsTokens`: otherwise rows are samples; `speaks`: otherwise
  /// nothing is shown.
  Display(int64_t steps, bool countsTokens, bool speaks);
  /// On a terminal alone: what is about to be trained.
  void begin(const char *text);
  /// Allocates nothing.
  void step(const LogLine &line);
  /// Ends the bar's line, so that other text starts on its own.
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

/// A bar and as many of the line's facts as fit `columns`, the most wanted first; no end of line.
void writeBar(char *text, size_t room, int columns, const LogLine &line, int64_t steps, bool countsTokens, const char *left);

} // namespace kedge::rt
