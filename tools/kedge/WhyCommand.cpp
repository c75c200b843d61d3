// kedge why MODEL TENSOR: what the plan does with one tensor, and what else could be done.
#include "driver/why/Why.h"
#include "lib/Support/Reporter.h"
#include "passes/Rematerialize/OptionWords.h"
#include "runtime/program/WordFlags.h"
#include "tools/flags/AutoFlags.h"
#include "tools/flags/MeshFlags.h"
#include "tools/kedge/Commands.h"
#include "tools/kedge/DeepSpeedFlags.h"

namespace kedge::tool {

using namespace driver;

void addWhyCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("why", "why a tensor is in memory, and what else could be done");
  auto options = std::make_shared<CompileOptions>();
  auto question = std::make_shared<WhyQuestion>();
  addCompileOptions(*command, *options);
  removeAutoOptions(*command);
  addRankOption(*command, *options);
  command
      ->add_option(
          "TENSOR", question->tensor,
          "an input, a parameter, a node or its output, a module, or a value of the plan as FUNCTION#N")
      ->required();
  command->add_flag("--json", options->plan.json, "the answer for machines")->group("Output");
  rt::checkWord(command
                    ->add_option("--force", question->force,
                                 "plan with this decision about the tensor in place of the plan's own")
                    ->group("Output"),
                wordsOf<remat::Decision>());
  command->callback([=, &exitCode] {
    *options = withDeepSpeedConfig(*command, *options);
    const nlohmann::json answer = why(*options, *question);
    const std::string text = options->plan.json ? answer.dump(2) + "\n" : whyText(answer);
    reporter().answer(text);
    exitCode = 0;
  });
}

} // namespace kedge::tool
