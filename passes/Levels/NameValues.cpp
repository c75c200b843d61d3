#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Levels/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace kedge::levels {
#define GEN_PASS_DEF_NAMEVALUES
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

struct NameValues : impl::NameValuesBase<NameValues> {
  void run() override {
    const auto kind = train::kindOf(getOperation());
    if (getOperation().isExternal() ||
        (kind != train::FunctionKind::Step && kind != train::FunctionKind::Micro))
      return;
    llvm::StringMap<int64_t> numbers;
    int64_t named = 0;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      if (PlaceAttr place = placeOf(&op)) {
        const std::string prefix = prefixOf(&op, place);
        name(&op, prefix + "." + std::to_string(numbers[prefix]++));
        named += op.getNumResults();
      }
    addStatistic("values named", named);
  }

  /// "forward h.0.attn/node_MatMul MatMul"
  static std::string prefixOf(Operation *op, PlaceAttr place) {
    return stringifyTrainingPhase(place.getPhase()).str() + " " + place.getModule().str() + "/" +
           place.getNode().str() + " " + op->getName().stripDialect().str();
  }

  static void name(Operation *op, const std::string &value) {
    Builder builder(op->getContext());
    SmallVector<DictionaryAttr> notes;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      notes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          "value", builder.getStringAttr(i == 0 ? value : value + ":" + std::to_string(i)))));
    setValueNotes(op, notes);
  }
};
} // namespace
} // namespace kedge::levels
