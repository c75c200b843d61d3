// kedge-bench tune: programs of --target cuda time their own products on this machine's GPU; one table comes
// of it.
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "runtime/calls/AlgorithmTable.h"
#include "runtime/io/FileMap.h"
#include "tools/kedge-bench/Commands.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace kedge::bench {
namespace {

struct TuneOptions {
  std::string device, output;
  std::vector<std::string> programs;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The program says itself what went wrong.
void runProgram(const std::string &program, const std::string &table) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("KEDGE_TUNE", table.c_str(), 1);
    const std::string path = std::filesystem::absolute(program).string();
    execl(path.c_str(), path.c_str(), static_cast<char *>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
    fail("{}: cannot be run: expected a program that kedge compile --target cuda wrote", program);
  if (WEXITSTATUS(status) != 0)
    fail("{}: no algorithms were timed (above): tuning needs the GPU that the program is for", program);
  if (!std::filesystem::exists(table))
    fail("{}: wrote no algorithm table: expected a program that kedge compile --target cuda wrote", program);
}

void checkDevice(const std::string &table, const std::string &wanted) {
  const rt::FileMap file(table, "algorithm table");
  const std::string found = nlohmann::json::parse(std::string_view(file.data(), file.size())).at("device");
  if (lower(found).find(lower(wanted)) == std::string::npos)
    fail("--device {}: expected this machine's GPU to be one, found '{}'", wanted, found);
}

void tune(const TuneOptions &options) {
  rt::calls::AlgorithmTable all;
  const std::string part = options.output + ".part";
  for (const std::string &program : options.programs) {
    std::filesystem::remove(part);
    runProgram(program, part);
    checkDevice(part, options.device);
    all.addFile(part);
  }
  std::filesystem::remove(part);
  const nlohmann::ordered_json file = {{"format", 1}, {"device", options.device}, {"entries", all.json()}};
  writeText(options.output, file.dump(1) + "\n");
  printf("%s: %zu products\n", options.output.c_str(), all.size());
}

} // namespace

void addTuneCommand(CLI::App &app) {
  CLI::App *command =
      app.add_subcommand("tune", "fill the algorithm table of a GPU: products of compiled programs");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("--device", options->device, "name of the GPU, or a part of it: h200")->required();
  command->add_option("--output", options->output, "FILE.json: the table, for KEDGE_ALGORITHMS")->required();
  command->add_option("programs", options->programs, "programs of kedge compile --target cuda")->required();
  command->callback([options] { tune(*options); });
}

} // namespace kedge::bench
