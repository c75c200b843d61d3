#include "lib/Support/ToolRun.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

using llvm::StringRef;

namespace kedge {
namespace {

/// This process's own, but for the folder of temporary files.
std::vector<std::string> environmentWith(const std::string &temporaryFolder) {
  std::vector<std::string> variables{"TMPDIR=" + temporaryFolder};
  for (char **variable = environ; *variable; ++variable)
    if (!StringRef(*variable).starts_with("TMPDIR="))
      variables.push_back(*variable);
  return variables;
}

std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// LLVM's Program.h does not tell which signal ended a child.
/// What a process begins with: its streams, and a session of its own, so that all that it starts ends with
/// it.
class Beginning {
public:
  explicit Beginning(const std::string &output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  }
  Beginning(const Beginning &) = delete;
  Beginning &operator=(const Beginning &) = delete;
  ~Beginning() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  /// 0 or an error number.
  int start(pid_t &child, std::vector<std::string> words, std::vector<std::string> environment) const {
    return posix_spawnp(&child, words.front().c_str(), &actions, &attributes, pointersTo(words).data(),
                        pointersTo(environment).data());
  }

private:
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

} // namespace

std::string ToolEnding::how() const {
  return isSignal() ? fmt::format("signal {} ({})", code - 128, strsignal(code - 128))
                    : fmt::format("exit code {}", code);
}

ToolEnding runTool(const std::vector<std::string> &words, const TemporaryFolder &folder,
                   const std::string &output) {
  static std::mutex one; // a signal ends one child
  const std::lock_guard lock(one);
  const std::string log = output.empty() ? folder.file("log") : output;
  const Beginning beginning(log);
  pid_t child = 0;
  int error = 0;
  startWithProcess([&] {
    error = beginning.start(child, words, environmentWith(folder.path().string()));
    return error == 0 ? child : 0;
  });
  if (error != 0)
    fail("{}: cannot be started: {}", words.front(), strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  endWithProcess(0);
  ToolEnding ending{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), {}};
  if (auto text = llvm::MemoryBuffer::getFile(log))
    ending.text = (*text)->getBuffer().trim().str();
  return ending;
}

std::string shellWord(const std::string &word) {
  constexpr StringRef plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%";
  if (!word.empty() && StringRef(word).find_first_not_of(plain) == StringRef::npos)
    return word;
  std::string result = "'";
  for (char c : word)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

} // namespace kedge
