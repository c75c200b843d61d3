#include "runtime/train/output/OutputFiles.h"
#include "runtime/format/AdapterFolder.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include "runtime/io/SameFile.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/platform/Process.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/weights/Weights.h"
#include <cerrno>
#include <cstring>

namespace kedge::rt {
namespace {

/// A file, and the option or the thing that names it.
struct Use {
  std::string what, path;
};
using Uses = std::vector<Use>;

void add(Uses &uses, const std::string &what, const std::string &path) {
  if (!path.empty())
    uses.push_back({what, path});
}

void addAll(Uses &uses, const std::string &flag, const std::vector<NamedFile> &files) {
  for (const NamedFile &file : files)
    add(uses, file.name.empty() ? flag : fmt::format("{} {}", flag, file.name), file.file);
}

/// The model file and its external data, where they were compiled and where --model says they are now.
void addModel(Uses &uses, const Options &options, const Program &program) {
  add(uses, "--model", options.model);
  for (size_t index = 0; index < program.files.size(); ++index) {
    add(uses, "the model", program.files[index].path);
    if (!options.model.empty() && index != 0)
      add(uses, "the model's data", placeOfModelFile(program, options.model, index));
  }
}

/// The file that --weights names, and the shards, index and external data behind it. What is wrong with them
/// is told when they are read.
void addWeights(Uses &uses, const std::string &path) {
  add(uses, "--weights", path);
  if (path.empty())
    return;
  try {
    for (const std::string &file : TensorFile::open(path).paths())
      add(uses, "--weights", file);
  } catch (const RuntimeError &) {
    return;
  }
}

/// What peft reads and writes in a folder of adapters.
void addAdapter(Uses &uses, const std::string &flag, const std::string &folder) {
  if (folder.empty())
    return;
  for (const char *file : {kAdapterConfig, kAdapterTensors})
    add(uses, flag, folder + "/" + file);
}

Uses inputsOf(const Options &options, const Program &program) {
  Uses uses;
  addAll(uses, "--data", options.data);
  addAll(uses, "--tokens", options.tokens);
  addAll(uses, "--eval-data", options.evalData);
  addAll(uses, "--eval-tokens", options.evalTokens);
  addWeights(uses, options.weights);
  addAdapter(uses, "--adapter", options.adapter);
  addModel(uses, options, program);
  if (options.sample.tokenizer != "bytes")
    add(uses, "--tokenizer", options.sample.tokenizer);
  add(uses, "the program", platform::programFile());
  return uses;
}

bool hasDataFile(const Program &program, const char *mode) {
  const auto skeleton = program.exportTemplate.find(mode);
  return skeleton != program.exportTemplate.end() && skeleton->is_object() &&
         !skeleton->value("external", nlohmann::json::array()).empty();
}

void addExport(Uses &uses, const std::string &flag, const std::string &path, const Program &program,
               const char *mode) {
  add(uses, flag, path);
  if (!path.empty() && hasDataFile(program, mode))
    add(uses, flag, path + ".data");
}

Uses outputsOf(const Options &options, const Program &program) {
  Uses uses;
  add(uses, "--log", options.log);
  add(uses, "--profile", options.profile);
  add(uses, "--memory-report", options.memoryReport);
  add(uses, "--dump-gradients", options.dumpGradients);
  add(uses, "--trace-values", options.traceValues);
  addExport(uses, "--export-onnx", options.exportOnnx, program, options.exportMode());
  addExport(uses, "--export-onnx-adapters", options.exportOnnxAdapters, program, "adapters");
  addAdapter(uses, "--export-adapter", options.exportAdapter);
  add(uses, "--export-safetensors", options.exportSafetensors);
  addAll(uses, "--predict", options.predict);
  return uses;
}

/// Checkpoints are files that a later run reads.
bool isOfCheckpoint(const std::string &path) {
  return platform::exists(path) && platform::exists(folderOf(path) + "/" + kManifest);
}

/// These are written as the run goes on, and have checks of their own.
bool isAppended(const Use &use) { return use.what == "--log" || use.what == "--trace-values"; }

void checkPlace(const Use &output, bool writes) {
  const std::string folder = folderOf(output.path);
  if (!platform::isWritableFolder(folder))
    fail("{} {}: cannot write into '{}': {}", output.what, output.path, folder, std::strerror(errno));
  if (!writes || isAppended(output))
    return;
  try {
    checkWritable(output.path);
  } catch (const RuntimeError &error) {
    fail("{} {}: {}", output.what, output.path, error.what());
  }
}

} // namespace

void checkOutputsWritable(const Options &options, const Program &program, bool writes) {
  if (writes && !options.exportAdapter.empty())
    platform::makeFolders(options.exportAdapter); // what is wrong is told below
  for (const Use &output : outputsOf(options, program))
    if (writes || output.what != "--export-adapter")
      checkPlace(output, writes);
}

void checkOutputFiles(const Options &options, const Program &program) {
  const Uses inputs = inputsOf(options, program), outputs = outputsOf(options, program);
  for (size_t at = 0; at < outputs.size(); ++at) {
    const Use &output = outputs[at];
    for (const Use &input : inputs)
      if (isSameFile(output.path, input.path))
        fail("{} {}: would overwrite {} ('{}'), which this run reads; name another file", output.what,
             output.path, input.what, input.path);
    if (isOfCheckpoint(output.path))
      fail("{} {}: would overwrite a file of a checkpoint; name another file", output.what, output.path);
    for (size_t other = 0; other < at; ++other)
      if (platform::placeOf(outputs[other].path) == platform::placeOf(output.path))
        fail("{} {}: {} writes that file, too; name another one", output.what, output.path,
             outputs[other].what);
  }
}

} // namespace kedge::rt
