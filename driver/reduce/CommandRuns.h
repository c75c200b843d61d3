// A command of the user's that is run again and again.
#pragma once
#include <cstdint>
#include <string>

namespace kedge::driver {

/// How a command ended.
struct Ending {
  int code = 0;       ///< exit code; 128 and the signal's number where one ended it
  std::string output; ///< standard output and error

  /// As shells tell of a signal; those above 128 are no code of ours.
  bool isSignal() const { return code > 128; }
  std::string text() const;
};

/// Runs `command` by /bin/sh, with `{}` replaced by `model`. Its output is kept in `log`, a file. Throws
/// kedge::Error when the shell cannot be started.
Ending runCommand(const std::string &command, const std::string &model, const std::string &log);

} // namespace kedge::driver
