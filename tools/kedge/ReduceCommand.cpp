// kedge reduce MODEL: the smallest part with which a command still fails.
#include "driver/reduce/Reduce.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "runtime/io/SameFile.h"
#include "tools/flags/ShapeFlags.h"
#include "tools/kedge/Commands.h"

namespace kedge::tool {

void addReduceCommand(CLI::App &app, int &exitCode) {
  CLI::App *command =
      app.add_subcommand("reduce", "the smallest part of a model with which a command still fails");
  auto question = std::make_shared<driver::ReduceQuestion>();
  command->add_option("MODEL", question->model, "the ONNX file")->required();
  const char *group = "Options";
  command->add_option("-o", question->output, "the ONNX file to write")->required()->group(group);
  command->add_option("--command", question->command, "what fails, for the shell; {} is the model's file")
      ->required()
      ->group(group);
  command
      ->add_option("--expect", question->expect,
                   "TEXT that its output holds when it fails (needed unless a signal ends it)")
      ->group(group);
  command
      ->add_option_function<std::vector<std::string>>(
          "--shape",
          [question](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              question->shapes.insert_or_assign(parseShape(text).first, parseShape(text).second);
          },
          "INPUT=8x1024 ...: shape of an input whose sizes the file leaves open; smaller ones are tried")
      ->group(group)
      ->allow_extra_args(false);
  command->callback([=, &exitCode] {
    if (rt::isSameFile(question->output, question->model))
      fail("-o {}: would overwrite the model ('{}'), which this command reads; name another file",
           question->output, question->model);
    const driver::ReducedModel found = driver::reduce(*question);
    reporter().answer(fmt::format("{} nodes became {} in {} runs: {}; the command ends with {}\n",
                                  found.nodesBefore, found.nodesAfter, found.runs, question->output,
                                  found.ending));
    exitCode = 0;
  });
}

} // namespace kedge::tool
