#include "driver/RoundTrip.h"
#include "driver/SavedIr.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "mlir/Parser/Parser.h"
#include <cstdlib>

using namespace mlir;

namespace kedge::driver {
namespace {

/// A module's ops and blocks in order, and its values by number.
struct Listed {
  std::vector<Operation *> ops;
  std::vector<Block *> blocks;
  DenseMap<Value, size_t> numbers;

  explicit Listed(ModuleOp module) {
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      for (Value result : op->getResults())
        numbers.try_emplace(result, numbers.size());
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          blocks.push_back(&block);
          for (Value argument : block.getArguments())
            numbers.try_emplace(argument, numbers.size());
        }
    });
  }
};

class Comparison {
public:
  Comparison(ModuleOp held, ModuleOp read) : held(held), read(read) {}

  /// What differs first; empty: nothing.
  std::string difference() {
    if (held.ops.size() != read.ops.size())
      return fmt::format("{} ops become {}", held.ops.size(), read.ops.size());
    for (auto [a, b] : llvm::zip(held.ops, read.ops))
      if (const char *what = differ(a, b))
        return fmt::format("{} of '{}' ({}) differs", what, a->getName().getStringRef().str(),
                           text(a->getLoc()));
    for (auto [a, b] : llvm::zip(held.blocks, read.blocks))
      if (a->getArgumentTypes() != b->getArgumentTypes())
        return fmt::format("arguments of a block of '{}' differ",
                           a->getParentOp()->getName().getStringRef().str());
    return "";
  }

private:
  const char *differ(Operation *a, Operation *b) {
    if (a->getName() != b->getName() || a->getNumRegions() != b->getNumRegions())
      return "the name";
    // LLVM's ops get their defaults as they are parsed: of them the text is compared.
    bool isLlvm = a->getName().getDialectNamespace() == "llvm";
    if (a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary() ||
        (!isLlvm && a->getPropertiesAsAttribute() != b->getPropertiesAsAttribute()))
      return "an attribute";
    if (a->getResultTypes() != b->getResultTypes())
      return "a type";
    // A terminator that is not printed is made again where its parent is.
    if (!a->hasTrait<OpTrait::IsTerminator>() && a->getLoc() != b->getLoc())
      return "the location";
    auto same = [&](Value x, Value y) { return held.numbers.lookup(x) == read.numbers.lookup(y); };
    if (a->getNumOperands() != b->getNumOperands() ||
        !llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()),
                      [&](auto pair) { return same(std::get<0>(pair), std::get<1>(pair)); }))
      return "an operand";
    return nullptr;
  }

  static std::string text(Location loc) {
    std::string result;
    llvm::raw_string_ostream(result) << loc;
    return result;
  }

  Listed held, read;
};

} // namespace

void checkRoundTrip(ModuleOp module, StringRef phase) {
  const char *wanted = std::getenv("KEDGE_ROUND_TRIP");
  if (!wanted || StringRef(wanted).empty() || StringRef(wanted) == "0")
    return;
  std::string text = wholeText(module);
  OwningOpRef<ModuleOp> read = parseSourceString<ModuleOp>(text, ParserConfig(module.getContext()), phase);
  if (!read)
    fail("KEDGE_ROUND_TRIP: {}: what is printed cannot be parsed", phase.str());
  if (wholeText(*read) != text)
    fail("KEDGE_ROUND_TRIP: {}: printed, parsed and printed again, the text differs", phase.str());
  if (std::string what = Comparison(module, *read).difference(); !what.empty())
    fail("KEDGE_ROUND_TRIP: {}: printed and parsed, {}", phase.str(), what);
  reporter().sayTogether(fmt::format("kedge: round trip: {}\n", phase.str()), {});
}

} // namespace kedge::driver
