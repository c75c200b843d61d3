#include "lib/Support/TemporaryFiles.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kedge {
namespace {

/// Read by a signal handler: fixed places, no locks.
struct Slot {
  std::atomic<bool> taken{false}, ready{false};
  char path[1024] = "";
};

constexpr int kDeepest = 16; ///< folders within a folder that are removed
constexpr int kSlots = 64;
Slot slots[kSlots];
std::atomic<pid_t> childProcess{0};
std::atomic<bool> isStarting{false}; ///< a child may be there that childProcess does not tell yet
std::atomic<int> delayed{0};         ///< signal that came meanwhile

void endChild() {
  const pid_t child = childProcess.load();
  if (child == 0)
    return;
  // Until its last process is gone it may still write. A child that has just begun has no group yet, and may
  // not hear the first signal; one that hears a second while it removes its files leaves them.
  constexpr int kTries = 500, kTriesOfSignal = 50;
  constexpr timespec pause{0, 10'000'000};
  bool isGone = false;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    isGone = isGone || waitpid(child, nullptr, WNOHANG) == child;
    const int number = attempt % kTriesOfSignal == 0 ? SIGTERM : 0; // 0 asks whether it is there
    if (kill(-child, number) != 0 && (isGone || kill(child, number) != 0))
      return;
    nanosleep(&pause, nullptr);
  }
  kill(-child, SIGKILL);
}

/// What getdents64 writes (its manual page); readdir would allocate, which a signal handler must not.
struct Entry {
  uint64_t number;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};

void emptyFolder(int folder, int depth);

void removeEntry(int folder, const char *name, int depth) {
  if (unlinkat(folder, name, 0) == 0 || depth == 0)
    return;
  if (const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); inner >= 0) {
    emptyFolder(inner, depth - 1);
    close(inner);
  }
  unlinkat(folder, name, AT_REMOVEDIR);
}

void emptyFolder(int folder, int depth) {
  alignas(Entry) char bytes[2048];
  for (long count; (count = syscall(SYS_getdents64, folder, bytes, sizeof(bytes))) > 0;)
    for (long at = 0; at < count;) {
      const Entry &entry = *reinterpret_cast<const Entry *>(bytes + at);
      at += entry.length;
      if (strcmp(entry.name, ".") != 0 && strcmp(entry.name, "..") != 0)
        removeEntry(folder, entry.name, depth);
    }
}

void endBySignal(int number) {
  if (isStarting.load()) {
    delayed.store(number);
    return;
  }
  removeTemporaryFiles();
  std::signal(number, SIG_DFL);
  raise(number);
}

void endByLostPage(int number, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR)
    return endBySignal(number);
  constexpr char text[] =
      "kedge: error: a file that is being read has become shorter, or its disk failed; leave files alone "
      "that the compiler reads\n";
  if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
    // nobody is looking
  }
  removeTemporaryFiles();
  _exit(1);
}

} // namespace

TemporaryFile::TemporaryFile(const std::string &path) : slot(-1) {
  if (path.size() >= sizeof(Slot::path))
    return;
  for (int at = 0; at < kSlots && slot < 0; ++at)
    if (!slots[at].taken.exchange(true))
      slot = at;
  if (slot < 0)
    return;
  std::memcpy(slots[slot].path, path.c_str(), path.size() + 1);
  slots[slot].ready.store(true);
}

TemporaryFile::~TemporaryFile() {
  if (slot < 0)
    return;
  slots[slot].ready.store(false);
  slots[slot].taken.store(false);
}

void removeTemporaryFiles() {
  endChild();
  for (int at = kSlots - 1; at >= 0; --at)
    if (slots[at].ready.load())
      removeEntry(AT_FDCWD, slots[at].path, kDeepest);
}

void startWithProcess(const std::function<pid_t()> &start) {
  isStarting.store(true);
  childProcess.store(start());
  isStarting.store(false);
  if (const int number = delayed.exchange(0))
    raise(number);
}

void endWithProcess(pid_t child) { childProcess.store(child); }

void catchEndingSignals() {
  struct sigaction action{};
  sigfillset(&action.sa_mask);
  action.sa_handler = endBySignal;
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before{};
    // Signals that are ignored at start (nohup, background shells) stay ignored.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(number, &action, nullptr);
  }
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = endByLostPage;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace kedge
