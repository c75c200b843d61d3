#include "SavedIr.h"
#include "kedge/Dialect/Registration.h"
#include "kedge/Support/Error.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include <filesystem>

using namespace mlir;
using nlohmann::json;

namespace kedge::tool {
namespace {

constexpr llvm::StringLiteral kSaved = "kedge.saved";
constexpr const char *kPhases[] = {"", "model", "step", "schedule", "rematerialize", "exec"};

/// The last phase that an option still acts in; nullopt: it acted before the first file was written.
std::optional<Phase> lastPhaseOf(const CLI::Option &option) {
  const std::string name = option.get_name(), group = option.get_group();
  // Defaults of the program's own options.
  for (const char *scalar : {"--lr", "--betas", "--eps", "--weight-decay"})
    if (name == scalar)
      return Phase::Exec;
  if (group == "Output")
    return Phase::Exec;
  if (group == "Memory")
    return Phase::Schedule;
  if (group == "Optimizer" && name != "--weight-decay-exclude" && name != "--lr-scale")
    return Phase::Model;
  return std::nullopt;
}

void checkActsLater(const CLI::Option &option, Phase done, const std::string &path) {
  std::optional<Phase> last = lastPhaseOf(option);
  if (!last)
    fail("{}: {} acts before the IR that this file holds; compile the ONNX file with it", path, option.get_name());
  if (*last < done)
    fail("{}: {} acts before phase '{}', whose IR this file holds; go on from a file of an earlier phase, or compile the "
         "ONNX file with it",
         path, option.get_name(), nameOf(done));
}

/// --emit of a level that lies behind.
void checkStillAhead(const std::string &emit, Phase done, const std::string &path) {
  Phase last = emit == "onnx" ? Phase::Model : emit == "train" ? Phase::Step : emit == "schedule" ? Phase::Rematerialize : Phase::Exec;
  if (last < done)
    fail("{}: --emit {} lies behind phase '{}', whose IR this file holds", path, emit, nameOf(done));
}

/// "--name=value", as the parser takes it again.
std::vector<std::string> commandLine(const SavedIr &saved) {
  std::vector<std::string> words = {saved.model};
  for (const auto &[name, values] : saved.arguments)
    for (const std::string &value : values)
      words.push_back(value.empty() ? name : name + "=" + value);
  return words;
}

} // namespace

const char *nameOf(Phase phase) { return kPhases[static_cast<int>(phase)]; }

bool isSavedIr(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

void SavedIr::putOn(ModuleOp module) const {
  Builder b(module.getContext());
  json words = json::array();
  for (const auto &[name, values] : arguments)
    words.push_back({{"name", name}, {"values", values}});
  auto text = [&](const char *name, const std::string &value) { return b.getNamedAttr(name, b.getStringAttr(value)); };
  module->setAttr(kSaved, b.getDictionaryAttr({text("phase", nameOf(phase)), text("model", model),
                                               text("graph_hash", graphHash), text("arguments", words.dump()),
                                               text("composites", json(composites).dump()), text("facts", facts.dump()),
                                               text("report", report.dump()),
                                               b.getNamedAttr("threads", b.getI64IntegerAttr(threads))}));
}

SavedIr SavedIr::takeFrom(ModuleOp module, const std::string &path) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(kSaved);
  if (!attribute)
    fail("{}: the module has no {}, which --save-ir writes: what was compiled, and how far, is not known", path, kSaved.str());
  module->removeAttr(kSaved);
  auto text = [&](const char *name) {
    auto value = attribute.getAs<StringAttr>(name);
    if (!value)
      fail("{}: {} has no '{}'", path, kSaved.str(), name);
    return value.str();
  };
  SavedIr saved;
  std::string phase = text("phase");
  for (Phase candidate : {Phase::Model, Phase::Step, Phase::Schedule, Phase::Rematerialize, Phase::Exec})
    if (phase == nameOf(candidate))
      saved.phase = candidate;
  if (saved.phase == Phase::None)
    fail("{}: '{}' is no phase: expected model, step, schedule, rematerialize or exec", path, phase);
  saved.model = text("model");
  saved.graphHash = text("graph_hash");
  if (auto threads = attribute.getAs<IntegerAttr>("threads"))
    saved.threads = static_cast<int>(threads.getInt());
  try {
    for (const json &word : json::parse(text("arguments")))
      saved.arguments.push_back({word.at("name"), word.at("values")});
    saved.composites = json::parse(text("composites")).get<std::map<std::string, int64_t>>();
    saved.facts = json::parse(text("facts"));
    saved.report = json::parse(text("report"));
  } catch (const json::exception &error) {
    fail("{}: {} is damaged: {}", path, kSaved.str(), error.what());
  }
  return saved;
}

OwningOpRef<ModuleOp> parseIr(MLIRContext &context, const std::string &path) {
  // Of kernels, which no registry of ours holds.
  context.loadDialect<LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    fail("{}: no IR that can be read (above); expected a file of --save-ir", path);
  return module;
}

std::string wholeText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  module.print(stream, flags.enableDebugInfo(true, /*prettyForm=*/false));
  return text;
}

SavedArguments argumentsOf(const CLI::App &command) {
  SavedArguments arguments;
  for (const CLI::Option *option : command.get_options()) {
    const std::string name = option->get_name();
    bool ofFiles = name == "-o" || name == "--emit" || name == "--save-ir" || name == "--report";
    if (option->count() == 0 || name == "MODEL" || name == "--help" || ofFiles)
      continue;
    std::vector<std::string> values = option->results();
    if (option->get_items_expected_max() == 0)
      values = {""};
    else if (char delimiter = option->get_delimiter())
      values = {CLI::detail::join(values, std::string(1, delimiter))};
    arguments.push_back({name, values});
  }
  return arguments;
}

CompileOptions resumedOptions(const CLI::App &command, const CompileOptions &given) {
  const std::string path = given.model.model;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SavedIr saved = SavedIr::takeFrom(*parseIr(context, path), path);
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 && option->get_name() != "MODEL")
      checkActsLater(*option, saved.phase, path);
  checkStillAhead(given.emit, saved.phase, path);
  for (auto &now : argumentsOf(command)) {
    std::erase_if(saved.arguments, [&](const auto &before) { return before.first == now.first; });
    saved.arguments.push_back(now);
  }
  CLI::App again;
  CompileOptions options;
  addCompileOptions(again, options);
  addProgramOptions(again, options);
  std::vector<std::string> words = commandLine(saved);
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  try {
    again.parse(words);
  } catch (const CLI::ParseError &error) {
    fail("{}: the options it was saved with cannot be read: {}", path, error.what());
  }
  options.arguments = saved.arguments;
  options.resumedFrom = path;
  options.output = given.output, options.emit = given.emit, options.saveIr = given.saveIr, options.report = given.report;
  return options;
}

} // namespace kedge::tool
