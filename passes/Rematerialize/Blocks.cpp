#include "passes/Rematerialize/Blocks.h"
#include "kedge/Dialect/Sched/ResultPlaces.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <set>

using namespace mlir;

namespace kedge::remat {
namespace {

/// The module whose forward computes a result; empty when it is not known or a gradient.
StringRef modulePath(OpResult result) {
  PlaceAttr place = sched::placeOfResult(result);
  return place && place.getPhase() == TrainingPhase::Forward ? place.getModule() : StringRef();
}

/// "a", "a.b", "a.b.c" of "a.b.c".
SmallVector<StringRef> prefixes(StringRef path) {
  SmallVector<StringRef> result;
  for (size_t at = 0; at != StringRef::npos;) {
    at = path.find('.', at + 1);
    result.push_back(path.take_front(at));
  }
  return result;
}

/// What modules of one class have in common without metadata: the path with every number blanked.
std::string pathPattern(StringRef path) {
  std::string pattern;
  for (char c : path)
    if (!llvm::isDigit(c))
      pattern += c;
    else if (pattern.empty() || pattern.back() != '#')
      pattern += '#';
  return pattern;
}

class Finder {
public:
  explicit Finder(const RecomputeGraph &graph) : graph(graph) {
    blocks.ofValue.assign(graph.values.size(), -1);
    for (auto [i, value] : llvm::enumerate(graph.values))
      if (Operation *op = value.getDefiningOp(); op && isForward(op))
        candidates.push_back(static_cast<int>(i));
  }

  Blocks run() {
    if (!byModule() && !byRepetition())
      byParts();
    return std::move(blocks);
  }

private:
  bool isForward(Operation *op) {
    if (forwardOps.empty())
      for (auto [i, node] : llvm::enumerate(graph.nodes))
        if (graph.forward[i] && node.result < 0)
          forwardOps[node.op] = static_cast<int>(forwardOps.size());
    return forwardOps.contains(op);
  }

  bool byModule() {
    auto module = graph.function->getParentOfType<ModuleOp>();
    DictionaryAttr classes = train::ModulesNote(module.getContext()).getAttr(module);
    auto classOf = [&](StringRef path) {
      auto type = classes ? classes.getAs<StringAttr>(path) : StringAttr();
      return type ? type.getValue().str() : classes ? std::string() : pathPattern(path);
    };
    llvm::StringMap<std::set<std::string>> instances;
    std::vector<SmallVector<StringRef>> paths;
    for (int value : candidates) {
      paths.push_back(prefixes(modulePath(cast<OpResult>(graph.values[value]))));
      for (StringRef path : paths.back())
        if (std::string type = classOf(path); !type.empty())
          instances[type].insert(path.str());
    }
    std::vector<StringRef> outermost(paths.size());
    for (auto [path, chain] : llvm::zip(outermost, paths))
      for (StringRef candidate : llvm::reverse(chain))
        if (std::string type = classOf(candidate); !type.empty() && instances[type].size() >= 2)
          path = candidate;
    dropSingles(outermost, classOf);
    dropLeaves(outermost, paths);
    llvm::StringMap<int> numbers;
    for (auto [value, path] : llvm::zip(candidates, outermost)) {
      if (path.empty())
        continue;
      blocks.ofValue[value] = numbers.try_emplace(path, numbers.size()).first->second;
      if (blocks.names.size() < numbers.size())
        blocks.names.push_back(path.str());
    }
    return !blocks.names.empty();
  }

  /// A class whose other instances all lie inside blocks, such as the last norm's, repeats nothing.
  static void dropSingles(std::vector<StringRef> &paths, llvm::function_ref<std::string(StringRef)> classOf) {
    llvm::StringMap<std::set<std::string>> instances;
    for (StringRef path : paths)
      if (!path.empty())
        instances[classOf(path)].insert(path.str());
    for (StringRef &path : paths)
      if (!path.empty() && instances[classOf(path)].size() < 2)
        path = "";
  }

  /// Beside modules that have modules of their own, single layers (two embeddings) are no blocks.
  static void dropLeaves(std::vector<StringRef> &paths, const std::vector<SmallVector<StringRef>> &chains) {
    std::set<StringRef> inner;
    for (auto [path, chain] : llvm::zip(paths, chains))
      if (!path.empty() && chain.back() != path)
        inner.insert(path);
    if (!inner.empty())
      for (StringRef &path : paths)
        if (!inner.count(path))
          path = "";
  }

  static std::string signature(Operation *op) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << op->getName();
    if (auto library = dyn_cast<sched::LibraryOp>(op))
      stream << library.getKernel();
    for (Type type : op->getOperandTypes())
      stream << type;
    stream << "->";
    for (Type type : op->getResultTypes())
      stream << type;
    return text;
  }

  /// The longest run of launches that are equal to those one period before.
  bool byRepetition() {
    std::vector<std::string> signatures;
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      if (graph.forward[i] && node.result < 0)
        signatures.push_back(signature(node.op));
    size_t bestLength = 0, bestPeriod = 0, bestStart = 0;
    for (size_t period = 2; period <= signatures.size() / 2; ++period)
      for (size_t i = 0, length = 0; i + period < signatures.size(); ++i) {
        length = signatures[i] == signatures[i + period] ? length + 1 : 0;
        if (length >= period && length + period > bestLength + bestPeriod) {
          bestLength = length, bestPeriod = period;
          bestStart = i + 1 - length;
        }
      }
    if (bestLength == 0)
      return false;
    size_t count = (bestLength + bestPeriod) / bestPeriod;
    assign(
        [&](size_t at) {
          return at < bestStart || at >= bestStart + count * bestPeriod
                     ? -1
                     : static_cast<int>((at - bestStart) / bestPeriod);
        },
        static_cast<int>(count));
    return true;
  }

  void byParts() {
    size_t launches = forwardOps.size();
    int parts = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(launches))));
    assign([&](size_t at) { return static_cast<int>(at * parts / launches); }, parts);
  }

  void assign(llvm::function_ref<int(size_t)> blockOf, int count) {
    for (int value : candidates)
      blocks.ofValue[value] = blockOf(forwardOps.lookup(graph.values[value].getDefiningOp()));
    for (int block = 0; block < count; ++block)
      blocks.names.push_back("part " + std::to_string(block));
  }

  const RecomputeGraph &graph;
  Blocks blocks;
  std::vector<int> candidates;           ///< values that forward launches make
  DenseMap<Operation *, int> forwardOps; ///< and their place among these
};

} // namespace

Blocks findBlocks(const RecomputeGraph &graph) { return Finder(graph).run(); }

} // namespace kedge::remat
