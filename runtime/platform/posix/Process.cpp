#include "runtime/platform/Process.h"
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#if __has_include(<xlocale.h>) // macOS declares locales of threads there
#include <xlocale.h>
#endif

namespace kedge::rt::platform {
namespace {

static_assert(SIGHUP == kHangup && SIGINT == kInterrupt && SIGPIPE == kBrokenPipe && SIGTERM == kTerminate);

void install(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

} // namespace

Arguments::Arguments(int count, char **arguments) : size(count), words(arguments) {}

void catchEnds(void (*handler)(int)) {
  install(SIGINT, handler);
  install(SIGTERM, handler);
  struct sigaction before{};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) // nohup stays as it is
    install(SIGHUP, handler);
  install(SIGXFSZ, SIG_IGN);
}

SignalsAreForOthers::SignalsAreForOthers() {
  sigset_t all, now;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &now);
  static_assert(sizeof now <= sizeof before);
  std::memcpy(before, &now, sizeof now);
}

SignalsAreForOthers::~SignalsAreForOthers() {
  sigset_t then;
  std::memcpy(&then, before, sizeof then);
  pthread_sigmask(SIG_SETMASK, &then, nullptr);
}

void endProcess(int code) { _exit(code); }

void stopProcess() { raise(SIGSTOP); }

PlainNumbers::PlainNumbers() : plain(newlocale(LC_ALL_MASK, "C", nullptr)) {
  if (plain)
    before = uselocale(static_cast<locale_t>(plain));
}

PlainNumbers::~PlainNumbers() {
  if (!plain)
    return;
  uselocale(static_cast<locale_t>(before));
  freelocale(static_cast<locale_t>(plain));
}

int64_t processId() { return getpid(); }

bool mayLive(int64_t process) { return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM; }

std::string hostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

void setVariable(const char *name, const char *value) { setenv(name, value, 1); }

} // namespace kedge::rt::platform
