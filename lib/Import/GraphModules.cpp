#include "lib/Import/GraphModules.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "lib/Lint/ExporterMetadata.h"
#include "mlir/IR/Builders.h"
#include <map>

using namespace mlir;

void kedge::importer::recordModuleClasses(ModuleOp module, const model::Model &model) {
  std::map<std::string, std::string> classes;
  for (const model::Node &node : model.graph.nodes) {
    // Both lists go from the outermost module to the call itself.
    std::vector<std::string> scopes = lint::parseStringList(node.meta(lint::key::nameScopes));
    std::vector<std::string> types = lint::parseStringList(node.meta(lint::key::classHierarchy));
    if (scopes.size() != types.size())
      continue;
    for (size_t i = 0; i + 1 < scopes.size(); ++i)
      if (!scopes[i].empty())
        classes.try_emplace(scopes[i], types[i]);
  }
  if (classes.empty())
    return;
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[path, type] : classes)
    entries.push_back(builder.getNamedAttr(path, builder.getStringAttr(type)));
  train::ModulesNote(module->getContext()).setAttr(module, builder.getDictionaryAttr(entries));
}
