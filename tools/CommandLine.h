// What all of the project's tools do before their options, and when they end.
#pragma once
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/TemporaryFiles.h"
#include "runtime/io/SameFile.h"
#include "runtime/io/StandardFiles.h"
#include "runtime/program/Version.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <unistd.h>

namespace kedge::tool {

/// Without allocating. What is temporary goes as with a signal.
[[noreturn]] inline void endWithoutMemory() {
  constexpr char text[] = "kedge: error: out of memory\n";
  [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, text, sizeof(text) - 1);
  removeTemporaryFiles();
  _exit(1);
}

/// A failed allocation in code that cannot throw is an error, too, not a crash. What is reported goes to the
/// terminal.
inline void prepareProcess(bool showsProgress = false) {
  static TerminalReporter terminal("kedge", showsProgress);
  static const ReporterScope scope(terminal);
  rt::prepareStandardFiles();
  catchEndingSignals();
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endWithoutMemory(); });
  std::set_terminate([] {
    try {
      if (std::exception_ptr current = std::current_exception())
        std::rethrow_exception(current);
    } catch (const std::bad_alloc &) {
      endWithoutMemory();
    } catch (...) {
      std::abort();
    }
    std::abort();
  });
}

/// --version, of a CLI::App.
template <typename App> auto *addVersion(App &app) {
  return app.set_version_flag("--version", rt::version(), "print the version, its commit and LLVM's version");
}

inline int sayError(const char *tool, const std::string &text) {
  TerminalReporter(tool).say({Severity::Error, text, "", ""});
  return 1;
}

/// The exit code, or 1 where standard output did not take everything.
inline int withOutput(const char *tool, int code) {
  if (const char *reason = rt::lostOutput(); *reason)
    return sayError(tool, std::string("cannot write to standard output: ") + reason);
  return code;
}

/// Of a tool that reads files as it writes: what stands behind an option of `outputs` is no other argument's
/// file.
inline void checkOutputArgument(int argc, char **argv, std::initializer_list<const char *> outputs) {
  for (int at = 1; at + 1 < argc; ++at)
    for (const char *output : outputs)
      if (!strcmp(argv[at], output))
        for (int other = 1; other < argc; ++other)
          if (other != at + 1 && rt::isSameFile(argv[other], argv[at + 1]))
            fail("{} {}: would overwrite '{}', which this command reads; name another file", output,
                 argv[at + 1], argv[other]);
}

/// Of a tool whose options are LLVM's: throws for an argument that is empty, and for an option without a
/// value behind its "=". Options of a pass within one may be empty: printed pipelines have all of them.
inline void refuseEmptyArguments(int argc, char **argv) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at], before = at > 1 ? argv[at - 1] : "";
    if (word.empty() && before.size() > 1 && before[0] == '-' && before.find('=') == std::string::npos)
      fail("{} '': its value is empty; is a variable unset? Give a value, or leave {} out", before, before);
    if (word.empty())
      fail("an argument is empty; is a variable unset?");
    if (word[0] == '-' && word.find('=') == word.size() - 1)
      fail("{}: its value is empty; is a variable unset? Give a value, or leave it out", word);
  }
}

} // namespace kedge::tool
