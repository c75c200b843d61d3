// The phases of kedge compile as pipelines: the passes that `kedge compile` runs in them. Their options are
// those of `kedge compile`, without dashes: --kedge-step-pipeline='precision=bf16 zero=2 ranks=4'. Each phase
// takes what it reads.
#include "driver/PhasePipelines.h"
#include "kedge/Passes.h"
#include "lib/Support/Error.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/program/NumberFlags.h"
#include "tools/flags/CompileFlags.h"
#include <algorithm>

namespace kedge::tool {
namespace {

using driver::Phase;

struct PhasePipeline {
  const char *name, *description;
  Phase phase;
  bool withKernels;
};
constexpr PhasePipeline kPipelines[] = {
    {"kedge-raise-pipeline", "level 1: composites, adapters and few bits", Phase::Model, false},
    {"kedge-step-pipeline", "level 1 to 2: precision, loss, gradients, optimizer, ranks", Phase::Step, false},
    {"kedge-schedule-pipeline", "level 2 to 3: clusters, library calls, their order", Phase::Schedule, false},
    {"kedge-rematerialize-pipeline", "level 3: what is computed again or moved", Phase::Rematerialize, false},
    {"kedge-memory-pipeline", "level 3 to 4: where bytes lie, without kernels", Phase::Exec, false},
    {"kedge-lower-pipeline", "level 3 to 4: kernels, and where bytes lie", Phase::Exec, true}};

/// Whether an option is read by no pass: it is of the file, of the program at run time, or of what is
/// written.
bool isOfNoPhase(const CLI::Option &option) {
  static constexpr std::string_view others[] = {"weight-decay-exclude",
                                                "lr-scale",
                                                "auto",
                                                "explain",
                                                "deepspeed-config",
                                                "cpu",
                                                "libc",
                                                "seed",
                                                "report",
                                                "replicas",
                                                "load-pass-plugin"};
  const std::string name = option.get_name();
  const auto isIn = [](std::string_view one, const auto &list) {
    return std::find(std::begin(list), std::end(list), one) != std::end(list);
  };
  return isIn(name.substr(2), others) || isIn(name, rt::scalarFlags()) || option.get_group() == "Model";
}

/// "a=1 b={x y} c" as the words of a command line. Braces around a value are of the pipeline's text; others
/// are the value's.
std::vector<std::string> wordsOf(llvm::StringRef text) {
  std::vector<std::string> words;
  int depth = 0; // within the braces around a value
  bool begins = true;
  for (const char letter : text) {
    if (letter == ' ' && depth == 0) {
      begins = true;
      continue;
    }
    if (std::exchange(begins, false))
      words.push_back("--");
    std::string &word = words.back();
    const bool opens = letter == '{' && (depth > 0 || word.ends_with('='));
    const bool closes = letter == '}' && depth > 0;
    depth += opens - closes;
    if (!(opens && depth == 1) && !(closes && depth == 0))
      word += letter;
  }
  return words;
}

CompileOptions requestOf(llvm::StringRef text) {
  CLI::App command;
  CompileOptions options;
  addCompileOptions(command, options);
  std::vector<std::string> words = {"module",
                                    "--configuration=none"}; // the module is there, and no file is asked
  const std::vector<std::string> given = wordsOf(text);
  words.insert(words.end(), given.begin(), given.end());
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  command.parse(words);
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 && isOfNoPhase(*option))
      fail("'{}' is read by no pass: it is of the ONNX file or of the program, which kedge compile has",
           option->get_name().substr(2));
  return options;
}

} // namespace

static void registerPhasePipelines() {
  for (const PhasePipeline &one : kPipelines)
    mlir::registerPassPipeline(
        one.name, one.description,
        [one](mlir::OpPassManager &manager, llvm::StringRef text,
              llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> refuse) {
          try {
            const CompileOptions options = requestOf(text);
            const model::Model none;
            const driver::PhasePipelines pipelines(options, none);
            if (pipelines.has(one.phase))
              pipelines.build(one.phase, one.withKernels, manager);
            return llvm::success();
          } catch (const std::exception &error) {
            return refuse(llvm::Twine(one.name) + ": " + error.what());
          }
        },
        [](llvm::function_ref<void(const mlir::detail::PassOptions &)>) {});
}

} // namespace kedge::tool

void kedge::registerAllPasses() {
  pipelines::registerPasses();
  tool::registerPhasePipelines();
}
