#include "driver/SavedIr.h"
#include "driver/Diagnostics.h"
#include "driver/Plugins.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "lib/Support/Error.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/KernelDialects.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <filesystem>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

constexpr llvm::StringLiteral kSaved = SavedNote::getNameStr();
constexpr const char *kPhaseNames[] = {"import", "model", "step", "schedule", "rematerialize", "exec"};

/// A hash of the module without its locations.
std::string hashOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo(false));
  return llvm::utohexstr(llvm::xxh3_64bits(text));
}

} // namespace

const char *nameOf(Phase phase) { return phase == Phase::None ? "" : kPhaseNames[static_cast<int>(phase)]; }

bool isSavedIr(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

void SavedIr::putOn(ModuleOp module) const {
  Builder b(module.getContext());
  const std::string hash = edited ? "" : hashOf(module);
  json words = json::array();
  for (const auto &[name, values] : arguments)
    words.push_back({{"name", name}, {"values", values}});
  auto text = [&](const char *name, const std::string &value) {
    return b.getNamedAttr(name, b.getStringAttr(value));
  };
  DictionaryAttr saved = b.getDictionaryAttr(
      {text("phase", nameOf(phase)), text("model", model), text("graph_hash", graphHash),
       text("arguments", words.dump()), text("composites", json(counts.composites).dump()),
       text("facts", facts.dump()), text("report", report.dump()), text("hash", hash),
       b.getNamedAttr("casts", b.getI64IntegerAttr(counts.casts)),
       b.getNamedAttr("threads", b.getI64IntegerAttr(threads))});
  SavedNote(module.getContext()).setAttr(module, saved);
}

SavedIr SavedIr::takeFrom(ModuleOp module, const std::string &path) {
  DictionaryAttr attribute = SavedNote(module.getContext()).getAttr(module);
  if (!attribute)
    fail("{}: the module has no {}, which --save-ir and --emit LEVEL --with-places write: without it, "
         "neither the model nor the phase is "
         "known",
         path, kSaved.str());
  module->removeAttr(kSaved);
  auto text = [&](const char *name) {
    auto value = attribute.getAs<StringAttr>(name);
    if (!value)
      fail("{}: {} has no '{}'", path, kSaved.str(), name);
    return value.str();
  };
  SavedIr saved;
  std::string phase = text("phase");
  for (Phase candidate : kPhases)
    if (phase == nameOf(candidate))
      saved.phase = candidate;
  if (saved.phase == Phase::None)
    fail("{}: '{}' is no phase: expected import, model, step, schedule, rematerialize or exec", path, phase);
  saved.model = text("model");
  saved.graphHash = text("graph_hash");
  saved.edited = text("hash") != hashOf(module);
  if (auto threads = attribute.getAs<IntegerAttr>("threads"))
    saved.threads = static_cast<int>(threads.getInt());
  if (auto casts = attribute.getAs<IntegerAttr>("casts"))
    saved.counts.casts = casts.getInt();
  try {
    for (const json &word : json::parse(text("arguments")))
      saved.arguments.push_back({word.at("name"), word.at("values")});
    saved.counts.composites = json::parse(text("composites")).get<std::map<std::string, int64_t>>();
    saved.facts = json::parse(text("facts"));
    saved.report = json::parse(text("report"));
  } catch (const json::exception &error) {
    fail("{}: {} is damaged: {}", path, kSaved.str(), error.what());
  }
  return saved;
}

SavedIr SavedIr::of(const std::string &path, const std::vector<std::string> &plugins) {
  MLIRContext context(dialectsWith(plugins), MLIRContext::Threading::DISABLED);
  return takeFrom(*parseIr(context, path), path);
}

OwningOpRef<ModuleOp> parseIr(MLIRContext &context, const std::string &path) {
  DialectRegistry kernels;
  lower::registerKernelDialects(kernels);
  context.appendDialectRegistry(kernels);
  context.loadAllAvailableDialects();
  std::error_code ignored;
  if (std::filesystem::file_status status = std::filesystem::status(path, ignored);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail("{}: expected a file, found a folder, a pipe or a device", path);
  Diagnostics diagnostics(context, path);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    diagnostics.raise(path + ": no IR that can be read; expected a file of --save-ir");
  return module;
}

std::string wholeText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  module.print(stream, flags.enableDebugInfo(true, /*prettyForm=*/false));
  return text;
}

} // namespace kedge::driver
