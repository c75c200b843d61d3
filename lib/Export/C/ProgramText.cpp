#include "lib/Export/C/ProgramText.h"
#include "lib/Export/C/LibraryText.h"
#include "lib/Support/Error.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Printable.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>
#include <map>

namespace kedge::exporter {
namespace {

using rt::ArenaSlot, rt::CompiledOptions, rt::DType, rt::dtypeName, rt::dtypeSize, rt::Function,
    rt::InputSpec, rt::Launch, rt::LossKind, rt::Program, rt::ProgramImage, rt::ResultSlot, rt::ScalarSlot,
    rt::shapeText, rt::State, rt::StateInit, rt::StateRole;

std::string typeOf(DType type) {
  switch (type) {
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  case DType::I8:
    return "int8_t";
  case DType::I16:
    return "int16_t";
  case DType::I32:
    return "int32_t";
  case DType::I64:
    return "int64_t";
  case DType::Bool:
  case DType::U8:
    return "uint8_t";
  case DType::U16:
    return "uint16_t";
  case DType::U32:
    return "uint32_t";
  case DType::U64:
    return "uint64_t";
  default:
    fail("--emit c and web: tensors of {} are not available yet; leave out --precision and --quantize",
         dtypeName(type));
  }
}

struct Formula {
  const char *name, *text;
};
/// As runtime/train/Schedule.cpp has them; `rates` and `update`, the number of this update from 1, are there.
constexpr Formula kScalars[] = {
    {"lr", "rates->lr"},
    {"beta1", "rates->beta1"},
    {"beta2", "rates->beta2"},
    {"exact_lr", "rates->lr"},
    {"exact_beta1", "rates->beta1"},
    {"exact_beta2", "rates->beta2"},
    {"one_minus_beta1", "1 - rates->beta1"},
    {"one_minus_beta2", "1 - rates->beta2"},
    {"eps", "rates->eps"},
    {"weight_decay", "rates->weight_decay"},
    {"momentum", "rates->momentum"},
    {"lr_decay", "rates->lr * rates->weight_decay"},
    {"step", "update - 1"},
    {"optimizer_step", "update"},
    {"bias_correction1", "1 - pow(rates->beta1, update)"},
    {"bias_correction2_sqrt", "sqrt(1 - pow(rates->beta2, update))"},
    {"step_size", "rates->lr / (1 - pow(rates->beta1, update))"},
    {"adafactor_mix", "pow(update, -0.8)"},
    {"inverse_sqrt_step", "1 / sqrt(update)"},
    {"adopt_clip", "pow(update - 1, 0.25)"},
    {"clip_norm", "rates->clip_norm"},
    {"seed", "rates->seed"},
    {"micro", "0"},
    {"row_base", "0"},
    {"rank", "0"},
};

std::string joined(const std::vector<std::string> &parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

class ProgramWriter {
public:
  ProgramWriter(const ProgramImage &image, const std::string &kernels, const std::string &name,
                Weights weights)
      : image(image), program(rt::parseProgram(image.json)), kernels(kernels), name(name), weights(weights) {
    expectSupported();
    nameParameters();
  }

  CFiles write() {
    std::string functions = weights == Weights::InFile ? initialValues() : "";
    for (const auto &[key, function] : program.functions)
      functions += launches(function);
    functions += scalars() + start() + run("step", "step") + run("evaluate", "eval") + prediction();
    return {sourceOf(functions), header()};
  }

private:
  void expectSupported() const {
    if (program.options.accumulate != 1 || !program.function("step"))
      fail("--emit c and web: --accumulate is not available yet; leave it out");
    if (program.options.loss == LossKind::None)
      fail("--emit c and web: models with TrainingInfoProto are not available yet");
    if (program.hostArenaBytes > 0)
      fail("--emit c and web: --offload has no other memory to go to; leave it out");
    const rt::ScalarOptions &schedule = program.options.schedule;
    if (schedule.schedule || schedule.warmup || schedule.decaySteps || schedule.minLr || schedule.warmupStart)
      fail(
          "--emit c and web: the caller sets the learning rate; leave out --schedule and what belongs to it");
    for (const State &state : program.states) {
      const bool isRandom =
          state.init.kind == StateInit::Kind::Uniform || state.init.kind == StateInit::Kind::Normal;
      const char *what = state.adapter                      ? "of an adapter"
                         : state.encoding                   ? "held in few bits"
                         : state.role == StateRole::Average ? "an average of weights"
                         : isRandom                         ? "drawn at random"
                                                            : nullptr;
      if (what || state.shard)
        fail("--emit c and web: '{}' is {}, which is not available yet", state.name,
             what ? what : "a part of a tensor");
    }
  }

  /// The values of states that do not begin with zeros, as the arena has them.
  std::string initialValues() {
    std::string text;
    for (size_t at = 0; at < program.states.size(); ++at) {
      const State &state = program.states[at];
      if (state.init.kind != StateInit::Kind::Data || state.desc.elements() == 0)
        continue;
      std::vector<char> bytes(state.desc.bytes());
      rt::transpose(bytes.data(), state.desc.type, state.desc.shape, image.data + state.init.offset,
                    state.init.type, state.init.perm);
      text += fmt::format("/* {} */\nstatic const {} values{}[] = {{{}}};\n", inComment(state.name),
                          unsignedOf(state.desc.type), at, numbers(bytes, dtypeSize(state.desc.type)));
    }
    return text;
  }

  static std::string unsignedOf(DType type) { return fmt::format("uint{}_t", 8 * dtypeSize(type)); }

  /// The bits of each element: they are what they are on machines of either order of bytes.
  static std::string numbers(const std::vector<char> &bytes, size_t size) {
    constexpr size_t perLine = 12;
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += size) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + at, size);
      text +=
          (at ? "," : "") + std::string(at / size % perLine == 0 ? "\n  " : " ") + fmt::format("{:#x}", bits);
    }
    return text;
  }

  std::string place(uint64_t offset) const { return fmt::format("((char *){}_arena + {})", name, offset); }

  std::string launches(const Function &function) {
    std::string text = fmt::format("static void run_{}(void) {{\n", function.name);
    for (const Launch &launch : function.launches) {
      std::vector<std::string> address;
      for (const uint64_t offset : launch.args)
        address.push_back(place(offset));
      if (launch.isLinked)
        fail("--emit c and web: {} of a plugin is not available yet", launch.library);
      if (!launch.kernel.empty())
        text += fmt::format("  {{ char *const args[] = {{{}}}; {}(args, 0, {}); }}\n", joined(address),
                            launch.kernel, launch.iterations);
      else
        text += libraryText(launch, address, helpers);
    }
    return text + "}\n\n";
  }

  std::string scalars() const {
    std::string text =
        fmt::format("static void set_scalars(void) {{\n  const struct {0}_rates *rates = &{0}_rates;\n"
                    "  const double update = (double)(steps + 1);\n  (void)rates, (void)update;\n",
                    name);
    for (const ScalarSlot &slot : program.scalars) {
      const auto known = std::find_if(std::begin(kScalars), std::end(kScalars),
                                      [&](const Formula &f) { return slot.name == f.name; });
      std::string formula = known == std::end(kScalars) ? "" : known->text;
      if (slot.name == "nominal_items")
        formula = fmt::format("{:a}", program.options.nominalItems);
      if (formula.empty())
        fail("--emit c and web: the scalar '{}' of the update is not available yet", slot.name);
      text += fmt::format("  {{ const {0} value = ({0})({1}); memcpy({2}, &value, sizeof value); }}\n",
                          typeOf(slot.type), formula, place(slot.offset));
    }
    return text + "}\n\n";
  }

  std::string start() const {
    const CompiledOptions &o = program.options;
    std::string text = fmt::format("void {}_start(void) {{\n  steps = 0;\n", name);
    if (weights == Weights::InFile)
      text += fmt::format("  memset({}_arena, 0, {});\n", name, program.persistentBytes);
    for (size_t at = 0; at < program.states.size(); ++at) {
      const State &state = program.states[at];
      if (state.desc.elements() == 0)
        continue;
      if (state.init.kind == StateInit::Kind::Data && weights == Weights::InFile)
        text += fmt::format("  memcpy({}, values{}, sizeof values{});\n", place(state.offset), at, at);
      if (state.init.kind == StateInit::Kind::Fill)
        text += fmt::format("  for (int64_t i = 0; i < {0}; ++i) {{ const {1} value = ({1}){2:a}; memcpy({3} "
                            "+ i * {4}, &value, {4}); }}\n",
                            state.desc.elements(), typeOf(state.desc.type), state.init.value,
                            place(state.offset), dtypeSize(state.desc.type));
    }
    for (const char *function : {"init", "restore"})
      if (program.function(function))
        text += fmt::format("  set_scalars();\n  run_{}();\n", function);
    return fmt::format("struct {}_rates {}_rates = {{{:a}, {:a}, {:a}, {:a}, {:a}, {:a}, {:a}, {}}};\n\n",
                       name, name, o.lr, o.beta1, o.beta2, o.eps, o.weightDecay, o.momentum, o.clipNorm,
                       o.seed) +
           text + "}\n\n";
  }

  std::string parameters(bool withLabels) const {
    std::vector<std::string> list;
    for (const InputSpec &input : program.inputs)
      if (withLabels || !input.labels)
        list.push_back(fmt::format("const {} *{}", typeOf(input.desc.type), parameter(input)));
    return joined(list);
  }

  /// Integers outside of what the model takes are found before anything changes.
  std::string inputs(const Function &function, bool withLabels) const {
    std::string checks, copies;
    for (const auto &[at, input] : llvm::enumerate(program.inputs)) {
      const auto slot = std::find_if(function.inputs.begin(), function.inputs.end(),
                                     [&](const ArenaSlot &s) { return s.name == input.name; });
      if (slot == function.inputs.end() || (input.labels && !withLabels))
        continue;
      if (input.lo || input.hi)
        checks += fmt::format("  for (int64_t i = 0; i < {}; ++i)\n    if ({})\n      return {};\n",
                              input.desc.elements(), outside(input), at + 1);
      copies +=
          fmt::format("  memcpy({}, {}, {});\n", place(slot->offset), parameter(input), input.desc.bytes());
    }
    return checks + copies;
  }

  std::string outside(const InputSpec &input) const {
    const std::string value = fmt::format("{}[i]", parameter(input));
    std::vector<std::string> bounds;
    if (input.lo)
      bounds.push_back(fmt::format("{} < {}", value, *input.lo));
    if (input.hi)
      bounds.push_back(fmt::format("{} > {}", value, *input.hi));
    std::string text = fmt::format("({})", fmt::join(bounds, " || "));
    for (const int64_t allowed : input.allowed)
      text += fmt::format(" && {} != {}", value, allowed);
    return text;
  }

  std::string run(const std::string &shown, const std::string &key) const {
    const Function *function = program.function(key);
    if (!function)
      return "";
    std::string text =
        fmt::format("int {0}_{1}({2}, struct {0}_result *result) {{\n", name, shown, parameters(true));
    text += inputs(*function, /*withLabels=*/true) +
            fmt::format("  set_scalars();\n  run_{}();\n", function->name);
    if (key == "step")
      text += "  ++steps;\n";
    text += "  if (result) {\n    double loss = 0, items = " + fmt::format("{:a};\n", itemsOf());
    text += lossOf(key) + "    result->loss = loss / items;\n    result->grad_norm = NAN;\n";
    if (const ResultSlot *norm = program.result(key, "grad_norm"))
      text += fmt::format("    {{ float norm; memcpy(&norm, {}, sizeof norm); result->grad_norm = norm; }}\n",
                          place(norm->offset));
    return text + "  }\n  return 0;\n}\n\n";
  }

  double itemsOf() const {
    return program.options.loss == LossKind::Mean ? 1 : program.options.itemsPerBatch;
  }

  std::string sumOf(const ResultSlot &slot, const char *to) const {
    return fmt::format("    {0} = 0;\n    for (int i = 0; i < {1}; ++i) {{ {2} part; memcpy(&part, {3} + i * "
                       "{4}, {4}); {0} += (double)part; }}\n",
                       to, slot.desc.elements(), typeOf(slot.desc.type), place(slot.offset),
                       dtypeSize(slot.desc.type));
  }

  /// Evaluation has sums a row.
  std::string lossOf(const std::string &key) const {
    std::string text;
    for (const char *result : {"loss_rows", "loss_sum"})
      if (const ResultSlot *slot = program.result(key, result)) {
        text += sumOf(*slot, "loss");
        break;
      }
    for (const char *result : {"item_rows", "items"})
      if (const ResultSlot *slot = program.result(key, result)) {
        text += sumOf(*slot, "items");
        break;
      }
    return text;
  }

  const Function *predicting() const { return predictingFunction(program); }

  std::string predictionHead() const {
    std::vector<std::string> outputs;
    for (const ArenaSlot &output : predicting()->outputs)
      outputs.push_back(fmt::format("{} *{}", typeOf(output.desc.type), parameter(output)));
    return fmt::format("int {}_predict({}{}{})", name, parameters(false), outputs.empty() ? "" : ", ",
                       joined(outputs));
  }

  std::string prediction() const {
    const Function *function = predicting();
    if (!function)
      return "";
    std::string text = predictionHead() + " {\n" + inputs(*function, /*withLabels=*/false) +
                       "  set_scalars();\n" + fmt::format("  run_{}();\n", function->name);
    for (const ArenaSlot &output : function->outputs) {
      if (output.afterLaunch >= 0)
        fail("--emit c and web: outputs in parts ('{}') are not available yet; leave out --logits-chunk",
             output.name);
      text += fmt::format("  if ({0})\n    memcpy({0}, {1}, {2});\n", parameter(output), place(output.offset),
                          output.desc.bytes());
    }
    return text + "  return 0;\n}\n";
  }

  /// A word in C that `taken` does not hold yet; it does then.
  static std::string newWord(const std::string &text, std::set<std::string> &taken) {
    std::string word = text;
    for (char &letter : word)
      if (!isalnum(static_cast<unsigned char>(letter)))
        letter = '_';
    std::string made = word;
    for (int number = 2; !taken.insert(made).second; ++number)
      made = fmt::format("{}_{}", word, number);
    return made;
  }
  /// Text of a file within a comment.
  static std::string inComment(const std::string &text) {
    std::string made = rt::printable(text);
    for (size_t at = 0; (at = made.find("*/", at)) != std::string::npos;)
      made.replace(at, 2, "* /");
    return made;
  }

  /// Begin as no keyword does, and no other parameter's.
  void nameParameters() {
    std::set<std::string> taken;
    for (const InputSpec &input : program.inputs)
      inputWords[input.name] = "in_" + newWord(input.name, taken);
    taken.clear();
    if (predicting())
      for (const ArenaSlot &output : predicting()->outputs)
        outputWords[output.name] = "out_" + newWord(output.name, taken);
  }
  const std::string &parameter(const InputSpec &input) const { return inputWords.at(input.name); }
  const std::string &parameter(const ArenaSlot &output) const { return outputWords.at(output.name); }

  std::string sourceOf(const std::string &functions) const {
    return fmt::format("/* Made by kedge compile --emit c; {0}.h says what it does. Products and sums are "
                       "not to be joined:\n"
                       "   compile with -ffp-contract=off where results are to be equal on all machines. */\n"
                       "#include \"{0}.h\"\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n"
                       "_Alignas(64) unsigned char {0}_arena[{1}];\nstatic int64_t steps;\n\n",
                       name, program.arenaBytes) +
           helperText(helpers) + kernels + functions +
           fmt::format("int64_t {0}_steps(void) {{ return steps; }}\nvoid {0}_go_on(int64_t done) {{ steps = "
                       "done; }}\n",
                       name);
  }

  std::string header() const {
    std::string text = fmt::format(
        "/* {0}: learns and predicts in {1} bytes and {4} for sums, without an operating system. Made by "
        "kedge "
        "compile --emit c.\n"
        "   Not for several threads at once. */\n#ifndef {0}_h\n#define {0}_h\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
        "enum {{ {0}_batch = {2} }};\n\n"
        "/* Its memory. Its first {0}_kept bytes and {0}_steps() are what goes on after a pause: put "
        "them back\n"
        "   after {0}_start(), then call {0}_go_on(). */\n"
        "enum {{ {0}_kept = {3} }};\nextern unsigned char {0}_arena[{1}];\n"
        "int64_t {0}_steps(void);\nvoid {0}_go_on(int64_t steps);\n\n"
        "/* Of the steps to come; what was compiled in until it is changed. */\n"
        "struct {0}_rates {{\n  double lr, beta1, beta2, eps, weight_decay, momentum, clip_norm;\n  int64_t "
        "seed;\n}};\n"
        "extern struct {0}_rates {0}_rates;\n\n"
        "/* grad_norm: of all gradients together, before they are clipped; NAN where there are none. */\n"
        "struct {0}_result {{\n  double loss, grad_norm;\n}};\n\n"
        "/* Weights of the model, as it was compiled; call it once. */\nvoid {0}_start(void);\n\n",
        name, program.arenaBytes, program.options.batch, program.persistentBytes, helpers.bytes());
    text += shapes();
    text += fmt::format("/* A step on {0}_batch rows, and the loss of such rows without one. Each returns 0, "
                        "or the number of the input (from\n"
                        "   1) that has a value that the model does not take; nothing has changed then. "
                        "`result` may be 0. */\n"
                        "int {0}_step({1}, struct {0}_result *result);\nint {0}_evaluate({1}, struct "
                        "{0}_result *result);\n\n",
                        name, parameters(true));
    if (predicting())
      text += "/* Outputs of the model; those that are 0 are not written. */\n" + predictionHead() + ";\n\n";
    return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
  }

  std::string shapes() const {
    std::string text;
    for (const InputSpec &input : program.inputs)
      text += fmt::format("/* {}: {} {} */\n", parameter(input), typeOf(input.desc.type),
                          shapeText(input.desc.shape));
    if (predicting())
      for (const ArenaSlot &output : predicting()->outputs)
        text += fmt::format("/* {}: {} {} */\n", parameter(output), typeOf(output.desc.type),
                            shapeText(output.desc.shape));
    text += fmt::format("/* Tensors of the model: name in the file, type, shape, place. Those that are "
                        "stored transposed have a note. */\n");
    std::set<std::string> taken;
    for (const State &state : program.states)
      if (!state.onnxName.empty())
        text += fmt::format("#define {0}_tensor_{1} (({2} *)(void *)({0}_arena + {3})) /* {4}, {5}{6} */\n",
                            name, newWord(state.onnxName, taken), typeOf(state.desc.type), state.offset,
                            inComment(state.onnxName), shapeText(state.desc.shape),
                            state.perm.empty() ? "" : ", transposed");
    return text + "\n";
  }

  const ProgramImage &image;
  const Program program;
  const std::string &kernels, &name;
  const Weights weights;
  std::map<std::string, std::string> inputWords, outputWords; ///< of parameters
  Helpers helpers;
};

} // namespace

CFiles programInC(const ProgramImage &image, const std::string &kernels, const std::string &name,
                  Weights weights) {
  return ProgramWriter(image, kernels, name, weights).write();
}

const Function *predictingFunction(const Program &program) {
  const Function *function = program.function("predict");
  return function ? function : program.function("eval");
}

} // namespace kedge::exporter
