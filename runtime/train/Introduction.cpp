#include "runtime/train/Introduction.h"
#include "runtime/data/Bounds.h"
#include "runtime/format/Convert.h"
#include "runtime/program/Version.h"
#include "runtime/train/output/OutputReader.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::rt {
namespace {

/// "i64 [rows, 128]"
std::string described(const TensorDesc &desc, bool batched) {
  std::string sizes = batched ? "rows" : "";
  for (size_t axis = batched ? 1 : 0; axis < desc.shape.size(); ++axis)
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(desc.shape[axis]);
  return fmt::format("{} [{}]", dtypeName(desc.type), sizes);
}

std::string lineOf(const InputSpec &input, size_t width) {
  const bool bounded = !isFloat(input.desc.type) && (input.lo || input.hi);
  return fmt::format("  {:<{}}  {}{}\n", input.name, width, described(input.desc, input.batched),
                     bounded ? ", " + boundsText(input) : "");
}

std::string outputLines(const Program &program) {
  std::string lines;
  for (const std::string &name : floatOutputs(program))
    if (const ArenaSlot *place = outputOf(program, functionWith(program, name), name))
      lines += fmt::format("  {}  {}\n", name, described(place->desc, true));
  return lines.empty() ? "" : "outputs (--predict OUTPUT=FILE.npy):\n" + lines;
}

/// Whether a file of tokens can be all of its data.
bool takesTokens(const Program &program) {
  const InputSpec *tokens = nullptr;
  for (const InputSpec &input : program.inputs)
    if (!input.labels && (tokens || isFloat(input.desc.type) || input.desc.shape.size() != 2))
      return false;
    else if (!input.labels)
      tokens = &input;
  return tokens && std::all_of(program.inputs.begin(), program.inputs.end(), [&](const InputSpec &input) {
           return input.desc.shape == tokens->desc.shape;
         });
}

std::string lossOf(const CompiledOptions &options) {
  if (options.trainingInfo)
    return "as its training_info says";
  return fmt::format("{}, {}", options.lossName == "none" ? "a loss of its own" : options.lossName,
                     options.optimizer);
}

std::string dataWords(const Program &program) {
  if (takesTokens(program))
    return "--tokens tokens.npy";
  std::string words = "--data";
  for (const InputSpec &input : program.inputs)
    words += fmt::format(" {0}={0}.npy", input.name);
  return words;
}

/// With a program for several numbers of ranks, any of them.
std::string launcher(const CompiledOptions &options) {
  const int ranks = options.ranks.empty() ? 1 : options.ranks.front();
  return ranks == 1 ? "" : fmt::format("mpirun -n {} ", ranks);
}

} // namespace

std::string introduction(const Program &program, const std::string &command) {
  const CompiledOptions &options = program.options;
  size_t width = 0;
  for (const InputSpec &input : program.inputs)
    width = std::max(width, input.name.size());
  std::string text = fmt::format(
      "{}: trains a model of {} parameters ({}) in steps of {} rows; compiled by {}\n"
      "inputs, a file of rows each (--data INPUT=FILE.npy, as numpy.save writes it):\n",
      program.name, options.parameters, lossOf(options), options.batch * options.accumulate, version());
  for (const InputSpec &input : program.inputs)
    text += lineOf(input, width);
  if (takesTokens(program))
    text += "or one file of tokens: --tokens FILE (the labels are the next tokens)\n";
  text += outputLines(program);
  return text + fmt::format("for example:\n  {}{} {} --steps 100 --export-onnx trained.onnx\n"
                            "--help lists all options.\n",
                            launcher(options), command, dataWords(program));
}

} // namespace kedge::rt
