// What a person sees of a run: a progress bar on a terminal, some lines elsewhere.
#pragma once
#include "runtime/train/Log.h"

namespace kedge::rt {

class Display {
public:
  /// `speaks`: otherwise nothing is shown.
  Display(int64_t steps, bool speaks);
  /// Allocates nothing.
  void step(const LogLine &line);
  /// Ends the bar's line, so that other text starts on its own.
  void finish();

private:
  void bar(const LogLine &line);
  int64_t steps, every;
  bool speaks, terminal, open = false;
  double last = -1;
};

} // namespace kedge::rt
