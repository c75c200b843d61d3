#include "driver/OutputFiles.h"
#include "driver/SavedIr.h"
#include "driver/program/KernelLevels.h"
#include "driver/program/LinkedKernels.h"
#include "lib/Link/Link.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "runtime/io/SameFile.h"
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace kedge::driver {
namespace {

/// A file, and the option that names it or what it is used for.
using Uses = std::vector<std::pair<std::string, std::string>>;

void addTensors(Uses &uses, const model::Graph &graph) {
  std::set<std::string> known;
  for (const model::Tensor &tensor : graph.initializers)
    if (tensor.storage == model::Tensor::Storage::External && known.insert(tensor.path).second)
      uses.emplace_back("the model's data", tensor.path);
}

Uses optionFiles(const CompileOptions &options) {
  Uses uses = {{"--deepspeed-config", options.deepSpeedConfig},
               {"--algorithms", options.output.algorithms},
               {"--mup", options.mup}};
  if (options.precisionPolicy != "master" && options.precisionPolicy != "autocast")
    uses.emplace_back("--precision-policy", options.precisionPolicy);
  for (const auto &[option, value] :
       {std::pair("--device", options.device), std::pair("--link", options.machine.link)})
    if (std::filesystem::path(value).has_extension() || value.find('/') != std::string::npos)
      uses.emplace_back(option, value);
  return uses;
}

Uses inputsOf(const CompileOptions &options, const model::Model &model) {
  Uses uses = optionFiles(options);
  uses.emplace_back("the model", options.model.model);
  uses.emplace_back("MODEL", options.resumedFrom);
  for (const std::string &weights : {options.model.classWeights, options.model.posWeight})
    uses.emplace_back("the weights of the loss", weights);
  addTensors(uses, model.graph);
  for (const model::TrainingInfo &info : model.trainingInfo)
    for (const auto &graph : {info.initialization, info.algorithm})
      if (graph)
        addTensors(uses, *graph);
  return uses;
}

Uses outputsOf(const CompileOptions &options) {
  return {{"-o", options.output.path},
          {"--report", options.output.report},
          {"--arena", options.output.arenaFile},
          {"--launches", options.output.launchFile},
          {"--depfile", options.output.depfile}};
}

} // namespace

void checkReadable(const CompileOptions &options) {
  for (const auto &[option, path] : optionFiles(options))
    if (!path.empty() && access(path.c_str(), R_OK) != 0)
      fail("{} {}: cannot be read: {}", option, path, strerror(errno));
}

void checkFiles(const CompileOptions &options, const model::Model &model) {
  for (const auto &[option, path] : optionFiles(options)) {
    std::error_code ignored;
    std::filesystem::file_status status = std::filesystem::status(path, ignored);
    if (!path.empty() && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      fail("{} {}: expected a file, found a folder, a pipe or a device", option, path);
  }
  for (const auto &[option, output] : outputsOf(options))
    for (const auto &[what, input] : inputsOf(options, model))
      if (!output.empty() && !input.empty() && rt::isSameFile(output, input))
        fail("{} {}: would overwrite {} ('{}'), which this command reads; name another file", option, output,
             what, input);
}

void writeDepfile(const CompileOptions &options) {
  const auto escaped = [](const std::string &path) {
    std::string text;
    for (const char letter : path)
      text += letter == ' ' || letter == '#' ? std::string("\\") + letter
              : letter == '$'                ? "$$"
                                             : std::string(1, letter);
    return text;
  };
  std::string output = options.output.path;
  if (isLibrary(options.output.emit)) {
    const link::LibraryPaths paths = link::libraryPaths(output);
    output = paths.file(options.output.emit == Emit::Archive
                            ? link::archiveFile(paths)
                            : link::libraryFile(paths, KernelLevels(options.machine.cpus).otherMachine()));
  }
  std::string text = escaped(output) + ":";
  for (const auto &[what, input] : inputsOf(options, model::loadModel(options.model.model, {})))
    if (!input.empty())
      text += " \\\n  " + escaped(input);
  for (const std::string &plugin : options.model.plugins)
    text += " \\\n  " + escaped(plugin);
  for (const std::string &file :
       kernelFilesOf(options.model.plugins, KernelLevels(options.machine.cpus).otherMachine()))
    text += " \\\n  " + escaped(file);
  writeText(options.output.depfile, text + "\n");
}

} // namespace kedge::driver
