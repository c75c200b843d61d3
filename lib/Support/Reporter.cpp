#include "lib/Support/Reporter.h"
#include "lib/Support/Error.h"
#include "lib/Support/TerminalText.h"
#include "runtime/io/Printable.h"
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace kedge {
namespace {

SilentReporter none;
thread_local Reporter *current = &none;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

Reporter &reporter() { return *current; }

ReporterScope::ReporterScope(Reporter &to) : before(current) { current = &to; }
ReporterScope::~ReporterScope() { current = before; }

void endIfCancelled() {
  if (reporter().isCancelled())
    fail("cancelled");
}

std::string terminalText(const std::string &tool, const Message &message) {
  return fmt::format("{}: {}: {}\n", tool, severityName(message.severity), rt::printable(message.text));
}

TerminalReporter::TerminalReporter(std::string name, bool showsProgress)
    : name(std::move(name)), showsProgress(showsProgress && isatty(STDERR_FILENO)) {}

void TerminalReporter::say(const Message &message) { fputs(terminalText(name, message).c_str(), stderr); }

void TerminalReporter::sayTogether(const std::string &text, const std::vector<Message> &) {
  fputs(rt::printable(text).c_str(), stderr);
}

void TerminalReporter::answer(const std::string &text) {
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
}

void TerminalReporter::progress(const std::string &what, double share) {
  constexpr double kPause = 0.1;
  if (!showsProgress)
    return;
  if (share >= 1) {
    fprintf(stderr, "\r\x1b[K");
    shown = 0;
  } else if (now() - shown >= kPause) {
    fprintf(stderr, "\r%s: %d%%\x1b[K", what.c_str(), static_cast<int>(100 * share));
    shown = now();
  }
  fflush(stderr);
}

} // namespace kedge
