#include "driver/Diagnostics.h"
#include "lib/Support/Error.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// The first node of that name, or that makes a value of it.
const model::Node *nodeNamed(const model::Model *model, const std::string &name) {
  if (model)
    for (const model::Node &node : model->graph.nodes)
      if (node.name == name || (node.name.empty() && llvm::is_contained(node.outputs, name)))
        return &node;
  return nullptr;
}

/// An op says its own name first, which the node's is better than. No std::regex: names in files may be of
/// any length.
StringRef withoutOpName(StringRef text) {
  StringRef rest = text;
  if (!rest.consume_front("'"))
    return text;
  auto [name, behind] = rest.split("' op ");
  const bool isName = name.contains('.') &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; });
  return isName && !behind.empty() ? behind : text;
}

} // namespace

Diagnostics::Diagnostics(MLIRContext &context, std::string file, const model::Model *model, bool isSilent,
                         std::shared_ptr<std::set<std::string>> told)
    : file(std::move(file)), model(model), isSilent(isSilent), told(std::move(told)), to(reporter()),
      handler(&context, [this](Diagnostic &diagnostic) { take(diagnostic); }) {}

Diagnostics::~Diagnostics() {
  for (const std::string &error : errors)
    to.say({Severity::Error, error, "", ""});
}

std::string Diagnostics::text() const { return fmt::format("{}", fmt::join(errors, "\nkedge: error: ")); }

void Diagnostics::raise(const std::string &otherwise) {
  std::string reported = text();
  errors.clear();
  throw Error(reported.empty() ? otherwise : reported);
}

void Diagnostics::take(Diagnostic &diagnostic) {
  std::string text = sentence(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    text += "\nkedge: note: " + sentence(note);
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    errors.push_back(std::move(text));
  else if (!isSilent && (!told || told->insert(text).second))
    to.say({Severity::Note, text, "", ""});
}

std::string Diagnostics::sentence(Diagnostic &diagnostic) const {
  const std::string place = placeOf(diagnostic.getLocation()), text = diagnostic.str();
  return place + (place.find(": node ") == std::string::npos ? text : withoutOpName(text).str());
}

/// Import nests locations: a module's path, then a node's name (GraphPlaces.h); the whole model has the
/// file's name.
std::string Diagnostics::placeOf(Location location) const {
  if (auto text = location->findInstanceOf<FileLineColLoc>())
    return fmt::format("{}:{}:{}: ", text.getFilename().str(), text.getLine(), text.getColumn());
  auto outer = location->findInstanceOf<NameLoc>();
  if (!outer || !model || outer.getName() == model->path)
    return file + ": ";
  auto inner = dyn_cast<NameLoc>(outer.getChildLoc());
  const std::string name = (inner ? inner : outer).getName().str();
  const model::Node *node = nodeNamed(model, name);
  std::string place = fmt::format("{}: {}", file, node ? node->describe() : fmt::format("'{}'", name));
  return fmt::format("{}{}{}: ", place, inner ? " in module " : "", inner ? outer.getName().str() : "");
}

} // namespace kedge::driver
