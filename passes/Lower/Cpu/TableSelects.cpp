#include "passes/Lower/Cpu/TableSelects.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kedge::lower;

namespace {
/// Trees of fewer selects stay selects.
constexpr size_t kWorthATable = 4;

/// A condition (code & bit) != 0.
struct BitTest {
  Value code;
  APInt bit;
};

std::optional<BitTest> bitTest(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(compare.getRhs(), m_Zero()))
    return std::nullopt;
  auto masked = compare.getLhs().getDefiningOp<arith::AndIOp>();
  APInt bit;
  if (!masked || !matchPattern(masked.getRhs(), m_ConstantInt(&bit)) || !bit.isPowerOf2() ||
      bit.uge(TableSelects::kEntries))
    return std::nullopt;
  return BitTest{masked.getLhs(), bit};
}

/// The selects of a tree that has constants at its ends, and tests bits of one number alone; else none.
llvm::SmallSetVector<Operation *, 16> treeOf(arith::SelectOp root, Value code) {
  llvm::SmallSetVector<Operation *, 16> tree;
  tree.insert(root);
  for (size_t k = 0; k < tree.size(); ++k) {
    auto select = cast<arith::SelectOp>(tree[k]);
    std::optional<BitTest> test = bitTest(select.getCondition());
    if (!test || test->code != code)
      return {};
    for (Value side : {select.getTrueValue(), select.getFalseValue()}) {
      Operation *made = side.getDefiningOp();
      if (isa_and_nonnull<arith::SelectOp>(made))
        tree.insert(made);
      else if (!isa_and_nonnull<arith::ConstantOp>(made))
        return {};
    }
  }
  return tree;
}

TypedAttr entryAt(Value value, unsigned code) {
  while (auto select = value.getDefiningOp<arith::SelectOp>())
    value = bitTest(select.getCondition())->bit.intersects(APInt(32, code)) ? select.getTrueValue()
                                                                            : select.getFalseValue();
  return value.getDefiningOp<arith::ConstantOp>().getValue();
}
} // namespace

std::optional<TableSelects> TableSelects::of(arith::SelectOp root) {
  std::optional<BitTest> test = bitTest(root.getCondition());
  if (!test || !root.getType().isF32() || !test->code.getType().isInteger(32))
    return std::nullopt;
  if (treeOf(root, test->code).size() < kWorthATable)
    return std::nullopt;
  TableSelects table{test->code, {}};
  for (unsigned code = 0; code < kEntries; ++code)
    table.entries[code] = entryAt(root, code);
  return table;
}

Value TableSelects::emit(OpBuilder &b, Location loc, Value codes) const {
  SmallVector<Attribute> numbers(entries.begin(), entries.end());
  auto type = VectorType::get({kEntries}, b.getF32Type());
  Value table = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
  Value mask = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(cast<VectorType>(codes.getType()), b.getI32IntegerAttr(kEntries - 1)));
  Value places = arith::AndIOp::create(b, loc, codes, mask);
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane < kEntries; ++lane) {
    Value place = vector::ExtractOp::create(b, loc, places, lane);
    place = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), place);
    lanes.push_back(vector::ExtractOp::create(b, loc, table, OpFoldResult(place)));
  }
  return vector::FromElementsOp::create(b, loc, type, lanes);
}
