// kedge data csv|jsonl|images: tables and pictures as data files.
#include "driver/data/Data.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"

namespace kedge::tool {
namespace {

void addShared(CLI::App &command, driver::DataRequest &request, const std::string &source) {
  command.add_option("SOURCE", request.source, source)->required();
  Flags flags(command, "Options");
  flags.add("-o", request.output, "OUT: what the names of the files begin with")->required();
  flags.number("--test", request.test, {0, 1, rt::RangeEnds::Below},
               "share of the rows that go to OUT-test-... files");
  flags.number("--test-seed", request.seed, {0, 1e15}, "which rows these are (0)");
  flags.add("--standardize", request.standardize, "less the mean of the training rows, over their deviation");
  flags.add("--like", request.like, "OUT of a training set: its classes, means and deviations");
}

/// What an earlier set has decided.
void refuseBeside(const CLI::App &command, std::initializer_list<const char *> flags) {
  if (command.count("--like") == 0)
    return;
  for (const char *flag : flags)
    if (command.count(flag) != 0)
      fail("{} and --like: the training set's files say it", flag);
}

void addTable(CLI::App &data, const char *name, const char *about, bool jsonLines, int &exitCode) {
  CLI::App *command = data.add_subcommand(name, about);
  auto request = std::make_shared<driver::TableRequest>();
  auto delimiter = std::make_shared<std::string>(",");
  request->jsonLines = jsonLines;
  addShared(*command, *request,
            jsonLines ? "an object on each line" : "a table whose first line names its columns");
  Flags flags(*command, "Options");
  flags.add("--label", request->label, "the column that is to be learned");
  flags.add("--classes", request->classes, "its whole numbers are classes");
  flags.add("--numbers", request->numbers, "its whole numbers are values")->excludes("--classes");
  if (!jsonLines)
    flags.add("--delimiter", *delimiter, "what stands between cells; tab for a tabulator");
  command->callback([=, &exitCode] {
    refuseBeside(*command, {"--label", "--classes", "--numbers", "--standardize", "--test"});
    if (request->label.empty() && request->like.empty())
      fail("data {}: --label COLUMN is missing: what is to be learned", name);
    if (*delimiter == "tab")
      *delimiter = "\t";
    if (delimiter->size() != 1)
      fail("--delimiter {}: expected one character, or tab", *delimiter);
    request->delimiter = (*delimiter)[0];
    reporter().answer(writeTable(*request));
    exitCode = 0;
  });
}

void addPictures(CLI::App &data, int &exitCode) {
  CLI::App *command = data.add_subcommand("images", "a folder of pictures, with a folder for each class");
  auto request = std::make_shared<driver::PicturesRequest>();
  addShared(*command, *request, "a folder that has a folder for each class");
  Flags flags(*command, "Options");
  flags.add("--size", request->size, "HEIGHTxWIDTH: scales all pictures");
  flags.add("--gray", request->gray, "one channel");
  flags.list("--mean", request->mean, "less these numbers, of pixels from 0 to 1", ',');
  flags.list("--std", request->std, "over these numbers", ',');
  command->callback([=, &exitCode] {
    refuseBeside(*command, {"--size", "--gray", "--mean", "--std", "--standardize", "--test"});
    if (request->standardize && (command->count("--mean") != 0 || command->count("--std") != 0))
      fail("--standardize and --mean or --std: give numbers, or have them measured");
    reporter().answer(writePictures(*request));
    exitCode = 0;
  });
}

} // namespace

void addDataCommand(CLI::App &app, int &exitCode) {
  CLI::App *data = app.add_subcommand("data", "tables and pictures as data files for --data of a program");
  data->require_subcommand(1);
  addTable(*data, "csv", "a table of commas, as spreadsheets write it", false, exitCode);
  addTable(*data, "jsonl", "lines of JSON, an object each", true, exitCode);
  addPictures(*data, exitCode);
}

} // namespace kedge::tool
