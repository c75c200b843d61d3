#include "driver/diff/Trace.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace kedge::driver {
namespace {

TracedTensor tensorOf(const nlohmann::json &record) {
  TracedTensor tensor;
  tensor.desc = {rt::parseDType(record.at("dtype").get<std::string>()),
                 record.at("shape").get<std::vector<int64_t>>()};
  tensor.step = record.at("step");
  tensor.isState = record.at("kind") == "state";
  if (tensor.isState) {
    tensor.name = record.at("name");
    tensor.readAs = record.at("read_as");
    return tensor;
  }
  tensor.run = record.at("run");
  tensor.launch = record.at("launch");
  tensor.function = record.at("function");
  tensor.op = record.at("op");
  tensor.place = record.at("place");
  tensor.backward = record.at("backward");
  tensor.intoState = record.at("into_state");
  tensor.reads = record.at("reads").get<std::vector<std::string>>();
  return tensor;
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

Trace::Trace(const std::string &path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts{};
  if (file < 0 || fstat(file, &facts) != 0)
    fail("{}: cannot be read", path);
  size = static_cast<size_t>(facts.st_size);
  mapped = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    mapped = nullptr;
    fail("{}: {} bytes cannot be mapped", path, size);
  }
  const char *at = static_cast<const char *>(mapped), *end = at + size;
  while (at < end) {
    const char *line = static_cast<const char *>(memchr(at, '\n', static_cast<size_t>(end - at)));
    if (!line)
      fail("{}: the trace is torn: a line has no end", path);
    const nlohmann::json record = nlohmann::json::parse(at, line);
    const size_t bytes = record.at("bytes");
    if (static_cast<size_t>(end - line - 1) < bytes)
      fail("{}: the trace is torn: a value of {} bytes has {}", path, bytes, end - line - 1);
    list.push_back(tensorOf(record));
    list.back().data = line + 1;
    at = line + 1 + bytes;
  }
}

Trace::~Trace() {
  if (mapped)
    munmap(mapped, size);
}

void runTraced(const std::string &program, const std::vector<std::string> &options, const std::string &file) {
  const std::string path = program.find('/') == std::string::npos ? "./" + program : program;
  if (access(path.c_str(), X_OK) != 0)
    fail("{}: is no program that can be run; expected what kedge compile -o wrote", program);
  std::vector<std::string> words{path};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--trace-values", file});
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string output = file + ".txt";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    fail("{}: cannot be started: {}", program, strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  fail("{}: ended with {} {}:\n{}", program, WIFEXITED(status) ? "exit code" : "signal",
       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), contentOf(output));
}

} // namespace kedge::driver
