#include "lib/Export/Web/WebFiles.h"
#include "LearnerText.h"
#include "lib/Export/C/ProgramText.h"
#include "runtime/format/Convert.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <fmt/ranges.h>

namespace kedge::exporter {
namespace {

using nlohmann::json;
using rt::dtypeName, rt::Program, rt::ProgramImage, rt::State, rt::StateInit, rt::TensorDesc;

json tensorText(const std::string &name, const TensorDesc &desc) {
  return {{"name", name}, {"type", dtypeName(desc.type)}, {"shape", desc.shape}};
}

json inputsOf(const Program &program) {
  json list = json::array();
  for (const rt::InputSpec &input : program.inputs) {
    json entry = tensorText(input.name, input.desc);
    if (input.labels)
      entry["labels"] = true;
    if (input.lo)
      entry["lo"] = *input.lo;
    if (input.hi)
      entry["hi"] = *input.hi;
    list.push_back(entry);
  }
  return list;
}

json tensorsOf(const Program &program) {
  json list = json::array();
  for (const State &state : program.states)
    if (!state.onnxName.empty()) {
      json entry = tensorText(state.onnxName, state.desc);
      entry["offset"] = state.offset;
      if (!state.perm.empty())
        entry["perm"] = state.perm;
      list.push_back(entry);
    }
  return list;
}

/// Those that begin with values of the file.
std::vector<State> givenStates(const Program &program) {
  std::vector<State> given;
  for (const State &state : program.states)
    if (state.init.kind == StateInit::Kind::Data && state.desc.elements() > 0)
      given.push_back(state);
  return given;
}

/// Of all that a checkpoint's bytes mean.
std::string fingerprintOf(const Program &program) {
  std::string text;
  for (const State &state : program.states)
    text += fmt::format("{} {} {} {} {};", state.name, state.offset, dtypeName(state.desc.type),
                        fmt::join(state.desc.shape, ","), fmt::join(state.perm, ","));
  return fmt::format("{:016x}", llvm::xxh3_64bits(text));
}

std::string replaced(std::string text, const std::string &word, const std::string &by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

/// A type with a field of values for each.
std::string rowsType(const std::string &type, const std::string &about, const json &tensors,
                     bool withLabels) {
  std::string text = fmt::format("/** {} */\nexport interface {} {{\n", about, type);
  for (const json &tensor : tensors)
    if (withLabels || !tensor.contains("labels"))
      text += fmt::format("  {}: Values; // {}, {}\n", tensor["name"].dump(),
                          tensor["type"].get<std::string>(), tensor["shape"].dump());
  return text + "}\n";
}

std::string typesText(const json &description, const std::string &name) {
  const json &inputs = description["inputs"];
  const std::string rows =
      rowsType("Rows", "Of a step: values row after row.", inputs, /*withLabels=*/true) +
      rowsType("Features", "Of a prediction.", inputs, /*withLabels=*/false) +
      rowsType("Outputs", "What the model makes of them.", description["outputs"], /*withLabels=*/true);
  return replaced(replaced(learner_text::types, "KEDGE_ROWS", rows), "KEDGE_NAME", name);
}

} // namespace

json webDescription(const ProgramImage &image, const std::string &name) {
  const Program program = rt::parseProgram(image.json);
  const rt::CompiledOptions &o = program.options;
  json outputs = json::array();
  if (const rt::Function *function = predictingFunction(program))
    for (const rt::ArenaSlot &output : function->outputs)
      outputs.push_back(tensorText(output.name, output.desc));
  json initial = json::array();
  for (const State &state : givenStates(program))
    initial.push_back({state.offset, state.desc.bytes()});
  return {{"name", name},
          {"batch", o.batch},
          {"kept", program.persistentBytes},
          {"arena", program.arenaBytes},
          {"fingerprint", fingerprintOf(program)},
          {"initial", initial},
          {"inputs", inputsOf(program)},
          {"outputs", outputs},
          {"tensors", tensorsOf(program)},
          {"rates",
           {{"lr", o.lr},
            {"beta1", o.beta1},
            {"beta2", o.beta2},
            {"eps", o.eps},
            {"weight_decay", o.weightDecay},
            {"momentum", o.momentum},
            {"clip_norm", o.clipNorm}}}};
}

std::vector<std::string> webExports(const std::string &name) {
  std::vector<std::string> words = {"__heap_base"};
  for (const char *word : {"arena", "rates", "start", "steps", "go_on", "step", "evaluate", "predict"})
    words.push_back(name + "_" + word);
  return words;
}

std::string initialStates(const ProgramImage &image) {
  const Program program = rt::parseProgram(image.json);
  std::string bytes;
  for (const State &state : givenStates(program)) {
    const size_t begin = bytes.size();
    bytes.resize(begin + state.desc.bytes());
    rt::transpose(bytes.data() + begin, state.desc.type, state.desc.shape, image.data + state.init.offset,
                  state.init.type, state.init.perm);
  }
  return bytes;
}

std::string withStates(const std::string &module, const std::string &states) {
  constexpr char custom = 0;
  const std::string section = "kedge.weights";
  std::string head;
  llvm::raw_string_ostream os(head);
  os << custom;
  llvm::encodeULEB128(llvm::getULEB128Size(section.size()) + section.size() + states.size(), os);
  llvm::encodeULEB128(section.size(), os);
  os << section;
  return module + head + states;
}

std::map<std::string, std::string> webFiles(const json &description, const std::string &module) {
  const auto name = description["name"].get<std::string>();
  const std::string made = "// Made by kedge compile --emit web.\n", about = description.dump();
  const std::string readsFile = fmt::format(
      "async () => {{\n  const place = new URL(\"{}.wasm\", import.meta.url);\n"
      "  if (place.protocol !== \"file:\") return (await fetch(place)).arrayBuffer();\n"
      "  const {{ readFile }} = await import(\"node:fs/promises\");\n  return readFile(place);\n}}",
      name);
  const std::string decodes = fmt::format(
      "() => Uint8Array.from(atob(\"{}\"), (letter) => letter.charCodeAt(0))", llvm::encodeBase64(module));
  return {
      {name + ".wasm", module},
      {name + ".mjs",
       made + learner_text::script +
           fmt::format("const kedge = kedgeLibrary({}, {});\nexport const {{ model, Learner, inWorker, store "
                       "}} = kedge;\n",
                       about, readsFile)},
      {name + ".js", made + fmt::format("globalThis[\"{}\"] = (() => {{\n", name) + learner_text::script +
                         fmt::format("return kedgeLibrary({}, {});\n}})();\n", about, decodes)},
      {name + ".d.ts", made + typesText(description, name)},
      {name + ".html", replaced(learner_text::page, "KEDGE_NAME", name)}};
}

} // namespace kedge::exporter
