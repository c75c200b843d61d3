#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Mesh/ClusterRule.h"
#include "passes/Mesh/Layout.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_JOINPARTS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;

constexpr int kAlike = ShardingRule::kWhole;

/// How the parts of a value are there. Of a value that has none the parts are alike.
struct Parts {
  int dim = kAlike;       ///< along which the parts are blocks; else each is of the whole's type
  Value rows;             ///< all blocks in one tensor, where that is there
  SmallVector<Value> own; ///< each by itself, where they are there

  bool isOfRows() const { return dim != kAlike; }
};

/// The dimension that has `parts` times as many elements in `whole`; nothing where types differ otherwise.
std::optional<int> dimOfParts(Type whole, Type part, int64_t parts) {
  auto all = cast<RankedTensorType>(whole), one = cast<RankedTensorType>(part);
  if (all == one)
    return kAlike;
  if (all.getRank() != one.getRank() || all.getElementType() != one.getElementType())
    return std::nullopt;
  std::optional<int> dim;
  for (int i = 0; i < all.getRank(); ++i)
    if (all.getDimSize(i) != one.getDimSize(i)) {
      if (dim || all.getDimSize(i) != parts * one.getDimSize(i))
        return std::nullopt;
      dim = i;
    }
  return dim;
}

/// Attributes that do not say sizes.
DictionaryAttr meaningOf(Operation *op) {
  NamedAttrList attributes(attributesWithoutPlace(op));
  for (StringRef sizes : {"shape", "domain"})
    attributes.erase(sizes);
  return attributes.getDictionary(op->getContext());
}

/// Rewrites the function of all rows, beside that of one part's rows.
class Joiner {
public:
  Joiner(func::FuncOp whole, func::FuncOp part, int64_t parts, int64_t largest)
      : whole(whole), part(part), parts(parts), largest(largest), builder(whole) {}

  int64_t joined = 0, apart = 0, products = 0;

  /// Whether the two are the same ops on more rows. Changes nothing.
  bool isAlike() {
    Block &all = whole.getBody().front(), &one = part.getBody().front();
    if (all.getNumArguments() != one.getNumArguments() ||
        all.getOperations().size() != one.getOperations().size())
      return false;
    for (auto [a, b] : llvm::zip(all.getArguments(), one.getArguments()))
      if (!areAlike(a, b))
        return false;
    return llvm::all_of(llvm::zip(all, one),
                        [&](auto pair) { return areAlike(std::get<0>(pair), std::get<1>(pair)); });
  }

  void run() {
    takeArguments();
    SmallVector<std::pair<Operation *, Operation *>> ops;
    for (auto [a, b] :
         llvm::zip(whole.getBody().front().without_terminator(), part.getBody().front().without_terminator()))
      ops.push_back({&a, &b});
    for (auto [op, ofPart] : ops)
      if (dependsOnRows(op, ofPart))
        take(op, ofPart);
    giveResults();
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  func::FuncOp whole, part;
  const int64_t parts, largest;
  OpBuilder builder;
  IRMapping wholeOf; ///< of a value of the part's function
  DenseMap<Value, Parts> partsOf;
  SmallVector<std::pair<Operation *, Operation *>> waiting; ///< computed part by part, when somebody asks
  SmallVector<Operation *> replaced;

  bool areAlike(BlockArgument a, BlockArgument b) {
    wholeOf.map(Value(b), Value(a));
    auto binding = train::bindingOfArgument(whole, a.getArgNumber());
    if (!binding || binding != train::bindingOfArgument(part, b.getArgNumber()))
      return false;
    const std::optional<int> dim = dimOfParts(a.getType(), b.getType(), parts);
    return binding.is(BindingKind::Input) ? dim == 0 : dim == kAlike;
  }

  bool areAlike(Operation &a, Operation &b) {
    if (a.getName() != b.getName() || a.getNumOperands() != b.getNumOperands() ||
        a.getNumResults() != b.getNumResults() || a.getNumRegions() != 0)
      return false;
    for (auto [own, other] : llvm::zip(a.getOperands(), b.getOperands()))
      if (wholeOf.lookupOrNull(other) != own)
        return false;
    bool differs = false;
    for (auto [own, other] : llvm::zip(a.getResults(), b.getResults())) {
      wholeOf.map(other, own);
      const std::optional<int> dim = dimOfParts(own.getType(), other.getType(), parts);
      if (!dim)
        return false;
      differs |= *dim != kAlike;
    }
    if (a.hasTrait<OpTrait::IsTerminator>())
      return haveKnownResults();
    return differs || a.getNumOperands() > 0 || a.getAttrDictionary() == b.getAttrDictionary();
  }

  bool haveKnownResults() {
    for (unsigned i = 0; i < whole.getNumResults(); ++i) {
      auto result = train::bindingOfResult(whole, i);
      if (!result || result != train::bindingOfResult(part, i) ||
          !(result.is(BindingKind::Gradient) || result.is(BindingKind::Result)))
        return false;
    }
    return true;
  }

  void takeArguments() {
    builder.setInsertionPointToStart(&whole.getBody().front());
    int64_t rows = 0;
    for (BlockArgument argument : part.getArguments())
      if (train::bindingOfArgument(part, argument.getArgNumber(), BindingKind::Input))
        rows = shapeOf(argument)[0];
    for (BlockArgument argument : whole.getArguments()) {
      auto binding = train::bindingOfArgument(whole, argument.getArgNumber());
      if (binding.is(BindingKind::Input))
        partsOf[argument] = {0, argument, {}};
      else if (binding.is(BindingKind::Scalar, "row_base"))
        takeFirstRows(argument, rows);
    }
  }

  void takeFirstRows(BlockArgument first, int64_t rows) {
    Parts own;
    for (int64_t p = 0; p < parts; ++p) {
      Value skipped = onnx::ConstantOp::create(
          builder, first.getLoc(),
          DenseElementsAttr::get(cast<RankedTensorType>(first.getType()), APInt(64, p * rows)));
      own.own.push_back(onnx::AddOp::create(builder, first.getLoc(), first, skipped));
      setPlace(own.own.back().getDefiningOp(),
               PlaceAttr::get(whole.getContext(), TrainingPhase::Forward, "", "row_base"));
    }
    partsOf[first] = own;
  }

  bool dependsOnRows(Operation *op, Operation *ofPart) {
    for (Value operand : op->getOperands())
      if (partsOf.contains(operand))
        return true;
    for (auto [own, other] : llvm::zip(op->getResults(), ofPart->getResults()))
      if (own.getType() != other.getType())
        return true;
    return false;
  }

  void take(Operation *op, Operation *ofPart) {
    if (isRowwise(op, ofPart)) {
      ++joined;
      for (OpOperand &operand : op->getOpOperands())
        operand.set(rowsOf(operand.get(), op));
      for (auto [result, other] : llvm::zip(op->getResults(), ofPart->getResults()))
        partsOf[result] = {*dimOfParts(result.getType(), other.getType(), parts), result, {}};
      return;
    }
    replaced.push_back(op);
    if (sumInMatmul(op))
      return;
    ++apart;
    waiting.push_back({op, ofPart});
    for (auto [result, other] : llvm::zip(op->getResults(), ofPart->getResults()))
      partsOf[result] = {*dimOfParts(result.getType(), other.getType(), parts), {}, {}};
  }

  bool isLarge(Value value) const { return bytesOf(value.getType()) > largest; }

  /// Whether one op on all rows is what the parts' ops are: no row of a result depends on another's, and what
  /// is there in parts is worth being put together.
  bool isRowwise(Operation *op, Operation *ofPart) {
    bool hasRows = op->getNumOperands() == 0, hasParts = false;
    for (Value operand : op->getOperands())
      if (auto own = partsOf.find(operand); own != partsOf.end()) {
        if (!own->second.isOfRows() || (!own->second.rows && isLarge(operand)))
          return false;
        (own->second.rows ? hasRows : hasParts) = true;
      }
    const bool isOfWeight = onnx::isMatmul(op) && !partsOf.contains(op->getOperand(1));
    if ((hasParts && !hasRows && !isOfWeight) || (isOfWeight && isLarge(op->getResult(0))))
      return false;
    if (meaningOf(op) != meaningOf(ofPart))
      return false;
    if (auto sharded = dyn_cast<ShardingOpInterface>(op);
        sharded && fits(sharded.shardingRule(2), op, ofPart))
      return true;
    return fits(clusterRule(op, 2), op, ofPart); // blocks of more than one row where there are more than two
  }

  bool fits(const ShardingRule &rule, Operation *op, Operation *ofPart) {
    if (rule.loops.empty())
      return false;
    int loop = kAlike;
    const auto takesLoop = [&](ArrayRef<int> dims, int dim) {
      if (dims[dim] == kAlike || (loop != kAlike && loop != dims[dim]))
        return false;
      loop = dims[dim];
      return true;
    };
    for (auto [result, other, dims] : llvm::zip(op->getResults(), ofPart->getResults(), rule.results)) {
      const int dim = *dimOfParts(result.getType(), other.getType(), parts);
      if (dim == kAlike || !takesLoop(dims, dim))
        return false;
    }
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
      if (auto own = partsOf.find(operand); own != partsOf.end()) {
        if (!takesLoop(dims, own->second.dim))
          return false;
      } else if (llvm::is_contained(dims, loop)) {
        return false;
      }
    return !rule.loops[loop].reduced && rule.loops[loop].sections.empty();
  }

  /// A gradient that is a product over the rows: the product adds its parts as a tree.
  bool sumInMatmul(Operation *op) {
    constexpr int64_t kMostOfPart = 512, kMost = 4096; // terms that one call holds
    if (!onnx::isMatmul(op) || op->getNumOperands() != 2 || !op->getResult(0).hasOneUse() ||
        !(*op->user_begin())->hasTrait<OpTrait::IsTerminator>())
      return false;
    const bool transA =
        op->getAttrOfType<BoolAttr>("transA") && op->getAttrOfType<BoolAttr>("transA").getValue();
    const bool transB =
        op->getAttrOfType<BoolAttr>("transB") && op->getAttrOfType<BoolAttr>("transB").getValue();
    Value a = op->getOperand(0), b = op->getOperand(1);
    if (rankOf(a) != 2 || rankOf(b) != 2 || !elementOf(a).isF32() || !elementOf(op->getResult(0)).isF32())
      return false;
    if (auto gemm = dyn_cast<onnx::GemmOp>(op); gemm && gemm.getAlpha().convertToFloat() != 1)
      return false;
    const int64_t terms = shapeOf(a)[transA ? 0 : 1];
    const auto sumsRows = [&](Value operand, int dim) {
      auto own = partsOf.find(operand);
      return own != partsOf.end() && own->second.rows && own->second.dim == dim;
    };
    if (!sumsRows(a, transA ? 0 : 1) || !sumsRows(b, transB ? 1 : 0) || terms / parts > kMostOfPart ||
        terms > kMost)
      return false;
    PlacedBuilder placed(op);
    Value sum = train::SumProductsOp::create(placed, op->getLoc(), op->getResult(0).getType(),
                                             partsOf[a].rows, partsOf[b].rows, parts, transA, transB,
                                             /*chain=*/false, /*backwards=*/false);
    op->getResult(0).replaceAllUsesWith(sum);
    ++products;
    return true;
  }

  /// All blocks of an operand in one tensor; what is alike for all parts as it is.
  Value rowsOf(Value value, Operation *reader) {
    auto found = partsOf.find(value);
    if (found == partsOf.end() || found->second.rows)
      return found == partsOf.end() ? value : found->second.rows;
    finish(reader);
    PlacedBuilder placed(reader);
    Parts &own = partsOf[value];
    own.rows = onnx::ConcatOp::create(placed, reader->getLoc(), own.own, own.dim);
    return own.rows;
  }

  /// Computes what waits, one part after the other.
  void finish(Operation *reader) {
    for (int64_t p = 0; p < parts; ++p)
      for (auto [op, ofPart] : waiting) {
        PlacedBuilder placed(reader, placeOf(op));
        IRMapping operands;
        for (auto [operand, other] : llvm::zip(op->getOperands(), ofPart->getOperands()))
          operands.map(other, blockOf(placed, operand, p));
        Operation *made = placed.clone(*ofPart, operands);
        for (auto [result, own] : llvm::zip(op->getResults(), made->getResults()))
          partsOf[result].own.push_back(own);
      }
    waiting.clear();
  }

  Value blockOf(PlacedBuilder &placed, Value value, int64_t p) {
    auto found = partsOf.find(value);
    if (found == partsOf.end())
      return value;
    Parts &own = found->second;
    if (!own.rows || !own.own.empty())
      return own.own[p];
    return blocks.try_emplace({own.rows, p}, Value()).first->second
               ? blocks[{own.rows, p}]
               : blocks[{own.rows, p}] = slice(placed, own, p);
  }
  DenseMap<std::pair<Value, int64_t>, Value> blocks; ///< cut already

  Value slice(PlacedBuilder &placed, const Parts &own, int64_t p) {
    SmallVector<int64_t> starts(rankOf(own.rows), 0), ends(shapeOf(own.rows)), steps(rankOf(own.rows), 1);
    const int64_t size = ends[own.dim] / parts;
    starts[own.dim] = p * size;
    ends[own.dim] = (p + 1) * size;
    return onnx::SliceOp::create(placed, own.rows.getLoc(), own.rows, placed.getDenseI64ArrayAttr(starts),
                                 placed.getDenseI64ArrayAttr(ends), placed.getDenseI64ArrayAttr(steps));
  }

  void giveResults() {
    Operation *end = whole.getBody().front().getTerminator();
    finish(end);
    for (OpOperand &returned : end->getOpOperands()) {
      Operation *producer = returned.get().getDefiningOp();
      if (producer && isa<train::SumProductsOp>(producer))
        continue;
      auto binding = train::bindingOfResult(whole, returned.getOperandNumber());
      PlaceAttr place = placeOfProducer(returned.get());
      PlacedBuilder placed(
          end, place ? place : PlaceAttr::get(whole.getContext(), TrainingPhase::Backward, "", "parts"));
      SmallVector<Value> own;
      for (int64_t p = 0; p < parts; ++p)
        own.push_back(blockOf(placed, returned.get(), p));
      returned.set(binding.is(BindingKind::Gradient) ? treeOf(placed, own, typeOfSum(binding))
                                                     : sumOf(placed, own));
    }
    whole.setFunctionType(FunctionType::get(whole.getContext(), whole.getBody().front().getArgumentTypes(),
                                            end->getOperandTypes()));
  }

  Type typeOfSum(train::BindingAttr gradient) {
    auto state = whole->getParentOfType<ModuleOp>().lookupSymbol<train::StateOp>(gradient.getSymbol());
    return state ? elementOf(state.getType()) : Type();
  }

  static Type elementOf(Type type) { return cast<RankedTensorType>(type).getElementType(); }
  static Type elementOf(Value value) { return elementOf(value.getType()); }

  Value castTo(PlacedBuilder &placed, Value value, Type element) {
    if (!element || elementOf(value) == element)
      return value;
    return onnx::CastOp::create(placed, value.getLoc(), value, TypeAttr::get(element));
  }

  Value treeOf(PlacedBuilder &placed, SmallVector<Value> sums, Type element) {
    for (Value &sum : sums)
      sum = castTo(placed, sum, element);
    while (sums.size() > 1) {
      for (size_t i = 0; 2 * i < sums.size(); ++i)
        sums[i] = onnx::AddOp::create(placed, sums[2 * i].getLoc(), sums[2 * i], sums[2 * i + 1]);
      sums.resize(sums.size() / 2);
    }
    return sums.front();
  }

  /// As the program adds up what micro-batches return.
  Value sumOf(PlacedBuilder &placed, ArrayRef<Value> own) {
    Value sum = castTo(placed, own.front(), placed.getF64Type());
    for (Value next : own.drop_front())
      sum = onnx::AddOp::create(placed, next.getLoc(), sum, castTo(placed, next, placed.getF64Type()));
    return sum;
  }
};

struct JoinParts : impl::JoinPartsBase<JoinParts> {
  using Base::Base;

  void run() override {
    auto ofPart = getOperation().lookupSymbol<ModuleOp>(partModuleName);
    auto whole = train::functionOf(getOperation(), train::FunctionKind::Micro);
    auto part = ofPart ? train::functionOf(ofPart, train::FunctionKind::Micro) : func::FuncOp();
    if (!ofPart)
      return;
    Joiner joiner(whole, part, dist::ownPartsOf(getOperation()), largest);
    if (whole && part && joiner.isAlike()) {
      joiner.run();
      getOperation()->setAttr(dist::joinedName, UnitAttr::get(&getContext()));
    }
    ofPart.erase();
    addStatistic("ops joined", joiner.joined);
    addStatistic("ops apart", joiner.apart);
    addStatistic("sums in products", joiner.products);
  }
};
} // namespace
} // namespace kedge::mesh
