// What a person sees of a run: a progress bar on a terminal, some lines elsewhere.
#pragma once
#include "runtime/train/Log.h"

namespace kedge::rt {

class Display {
public:
  /// `first`: completed steps when the run begins or goes on; `countsTokens`: otherwise rows are samples; `speaks`: otherwise
  /// nothing is shown.
  Display(int64_t first, int64_t steps, bool countsTokens, bool speaks);
  /// On a terminal alone: what is about to be trained.
  void begin(const char *text);
  /// Allocates nothing.
  void step(const LogLine &line);
  /// Ends the bar's line, so that other text starts on its own.
  void finish();

private:
  void bar(const LogLine &line);
  void keep(const LogLine &line);
  int64_t first, steps, every;
  bool countsTokens, speaks, terminal, open = false;
  double start, last = -1;
};

/// "1:02:03", "2:03": what is left of a run of `steps` whose last `done` steps took `seconds`. Empty when unknown.
void writeTimeLeft(char *text, size_t room, double seconds, int64_t done, int64_t left);

/// A bar and as many of the line's facts as fit `columns`, the most wanted first; no end of line.
void writeBar(char *text, size_t room, int columns, const LogLine &line, int64_t steps, bool countsTokens, const char *left);

} // namespace kedge::rt
