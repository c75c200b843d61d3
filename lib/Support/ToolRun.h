// Other programs that the compiler runs: a linker, ptxas, a training program that is traced, a user's
// command.
#pragma once
#include "lib/Support/TemporaryFolder.h"
#include <string>
#include <vector>

namespace kedge {

struct ToolEnding {
  static constexpr int kLastSignal = 64; ///< of Linux: 255 is an exit code
  int code = 0;     ///< exit code; as shells tell it, 128 and the signal's number where one ended it
  std::string text; ///< what it said on both streams

  bool isSignal() const { return code > 128 && code <= 128 + kLastSignal; }
  /// "exit code 1", "signal 11 (Segmentation fault)".
  std::string how() const;
};

/// Runs `words`, a program and its arguments, until it ends; a name without a slash is looked for in PATH. It
/// reads nothing. Its output is kept in `output`, or where that is empty in a file of `folder`. Its temporary
/// files go to `folder`, since not every tool removes its own when a signal ends it. A signal that ends this
/// process ends the tool and all that it started. Throws if it cannot be started. One at a time: a second
/// thread waits.
ToolEnding runTool(const std::vector<std::string> &words, const TemporaryFolder &folder,
                   const std::string &output = "");

/// As one word of a shell: as it is where that is one, else in quotes.
std::string shellWord(const std::string &word);

} // namespace kedge
