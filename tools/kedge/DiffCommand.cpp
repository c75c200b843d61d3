// kedge diff A B: where two programs of one model part.
#include "driver/SavedIr.h"
#include "driver/diff/Diff.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/TemporaryFolder.h"
#include "runtime/program/NumberFlags.h"
#include "tools/kedge/Commands.h"
#include <cstdio>
#include <optional>

namespace kedge::tool {

using namespace driver;

namespace {
struct DiffFlags {
  DiffQuestion question;
  std::vector<std::string> data, tokens;
  std::string weights;
  int64_t steps = 1, seed = 0;
  int threads = 0;
  bool json = false, seeded = false;
};

/// Programs of files of IR, in a folder that goes away again.
class ProgramsOfIr {
public:
  /// The program itself, or that of a file of --save-ir.
  std::string programOf(const std::string &path, const char *name) {
    if (!isSavedIr(path))
      return path;
    if (!folder)
      folder.emplace("kedge-diff");
    const std::string program = folder->file(name);
    compileSavedIr(path, program);
    return program;
  }

private:
  std::optional<TemporaryFolder> folder;
};

/// The options that both programs get.
std::vector<std::string> programOptionsOf(const DiffFlags &flags) {
  std::vector<std::string> words{"--steps", std::to_string(flags.steps)};
  const auto add = [&](const char *flag, const std::vector<std::string> &values) {
    for (const std::string &value : values)
      words.insert(words.end(), {flag, value});
  };
  add("--data", flags.data);
  add("--tokens", flags.tokens);
  if (!flags.weights.empty())
    add("--weights", {flags.weights});
  if (flags.seeded)
    add("--seed", {std::to_string(flags.seed)});
  if (flags.threads > 0)
    add("--threads", {std::to_string(flags.threads)});
  return words;
}
} // namespace

void addDiffCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("diff", "where two programs of one model part");
  auto flags = std::make_shared<DiffFlags>();
  command->add_option("A", flags->question.a, "a program that kedge compile made, or a file of --save-ir")
      ->required();
  command->add_option("B", flags->question.b, "another one of the same model");
  const char *group = "Options";
  command->add_option("--data", flags->data, "INPUT=FILE.npy: the rows that both run on; one for each input")
      ->group(group);
  command->add_option("--tokens", flags->tokens, "[INPUT=]FILE: the same from a file of tokens")
      ->group(group);
  command->add_option("--weights", flags->weights, "FILE or DIR: weights that both begin with")->group(group);
  command->add_option("--steps", flags->steps, "steps to compare")->group(group)->capture_default_str();
  command
      ->add_option_function<int64_t>(
          "--seed", [flags](int64_t seed) { flags->seed = seed, flags->seeded = true; },
          "seed of both (default: their own)")
      ->group(group);
  command->add_option("--threads", flags->threads, "threads of both (default: physical cores)")->group(group);
  command
      ->add_option(
          "--tolerance", flags->question.tolerance,
          "values whose relative error is at most this count as equal (default: 0, equal to the bit)")
      ->group(group);
  command
      ->add_option(
          "--against", flags->question.against,
          "MODEL.onnx in place of B: what onnxruntime, or else ONNX's reference evaluator, computes of it in "
          "the forward part of the first step (KEDGE_PYTHON: an interpreter that has them)")
      ->group(group);
  command
      ->add_option("--launcher", flags->question.launcher,
                   "what starts a program of several ranks, before -n N PROGRAM")
      ->group(group)
      ->capture_default_str();
  command->add_flag("--json", flags->json, "the answer for machines")->group(group);
  rt::checkNumbers(*command);
  command->callback([=, &exitCode] {
    if (flags->question.b.empty() == flags->question.against.empty())
      fail("diff: expected a second program, or --against MODEL.onnx; found {}",
           flags->question.b.empty() ? "neither" : "both");
    if (!flags->question.against.empty() && flags->steps != 1)
      fail("--against compares the first step, before the weights change; found --steps {}", flags->steps);
    ProgramsOfIr programs;
    DiffQuestion question = flags->question;
    question.options = programOptionsOf(*flags);
    question.a = programs.programOf(question.a, "a");
    if (question.against.empty())
      question.b = programs.programOf(question.b, "b");
    nlohmann::json found = diff(question);
    found["a"] = flags->question.a;
    if (question.against.empty())
      found["b"] = flags->question.b;
    const std::string text = flags->json ? found.dump(2) + "\n" : diffText(found);
    reporter().answer(text);
    exitCode = found["equal"].get<bool>() ? 0 : 2;
  });
}

} // namespace kedge::tool
