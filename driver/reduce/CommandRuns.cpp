#include "driver/reduce/CommandRuns.h"
#include "lib/Support/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>

extern char **environ;

namespace kedge::driver {
namespace {

/// As a word of the shell.
std::string quoted(const std::string &word) {
  std::string result = "'";
  for (char c : word)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string withModel(std::string command, const std::string &model) {
  const std::string word = quoted(model);
  for (size_t at = 0; (at = command.find("{}", at)) != std::string::npos; at += word.size())
    command.replace(at, 2, word);
  return command;
}

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

std::string Ending::text() const {
  return isSignal() ? fmt::format("signal {} ({})", code - 128, strsignal(code - 128))
                    : fmt::format("exit code {}", code);
}

Ending runCommand(const std::string &command, const std::string &model, const std::string &log) {
  std::string shell = "/bin/sh", flag = "-c", words = withModel(command, model);
  char *argv[] = {shell.data(), flag.data(), words.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawn(&child, shell.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    fail("/bin/sh: cannot be started: {}", strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), textOf(log)};
}

} // namespace kedge::driver
