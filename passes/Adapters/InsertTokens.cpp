#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Adapters/AdapterStates.h"
#include "passes/Adapters/FolderWeights.h"
#include "passes/Adapters/Passes.h"
#include <algorithm>
#include <set>

namespace kedge::adapters {
#define GEN_PASS_DEF_INSERTTOKENS
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

/// A table with the rows of it that train.
struct Tokens {
  AdaptedWeight table;
  std::string path; ///< in a folder of adapters
  std::vector<int64_t> rows;
  FolderTensor first = {}; ///< without a place: the table's rows
};

struct InsertTokens : impl::InsertTokensBase<InsertTokens> {
  using Base::Base;
  func::FuncOp model;
  int64_t added = 0;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to put rows into");
      return signalPassFailure();
    }
    added = 0;
    SmallVector<Tokens> tables;
    if (failed(folder.empty() ? fromRules(tables) : fromFolder(tables)))
      return signalPassFailure();
    for (Tokens &table : tables)
      insert(table);
    addStatistic("tables", tables.size());
    addStatistic("parameters added", added);
  }

  LogicalResult fromRules(SmallVectorImpl<Tokens> &tables) {
    const auto ruleFor = [&](AdaptedWeight &weight) -> const TokenRule * {
      for (const TokenRule &rule : tokens)
        if (readsRows(weight) &&
            (rule.names.isIn(weight.name().str()) || rule.names.isIn(pathOf(weight) + ".weight")))
          return &rule;
      return nullptr;
    };
    const auto note = [&](AdaptedWeight &weight, const TokenRule &rule) {
      tables.push_back({weight, pathOf(weight), rule.rows});
      return check(tables.back(), "--train-tokens");
    };
    const FailureOr<const TokenRule *> unused = applyRules<TokenRule>(model, tokens, ruleFor, note);
    if (failed(unused))
      return failure();
    if (*unused)
      return getOperation().emitError()
             << "--train-tokens '" << (*unused)->text()
             << "': no table that rows are looked up in has such a name; kedge lint --json "
                "lists the names of all tensors";
    return success();
  }

  LogicalResult fromFolder(SmallVectorImpl<Tokens> &tables) {
    LogicalResult done = success();
    const auto read = [&] { done = fromFolder(tables, rt::AdapterFolder::open(folder)); };
    const auto report = [&](const char *text) { getOperation().emitError() << "--adapter: " << text; };
    return success(succeeded(reportingFailures(read, report)) && succeeded(done));
  }

  LogicalResult fromFolder(SmallVectorImpl<Tokens> &tables, const rt::AdapterFolder &given) {
    SmallVector<AdaptedWeight> all = weightsOf(model);
    FolderWeights named(getOperation(), all, given);
    for (const rt::TokenModule &module : given.tokens()) {
      AdaptedWeight *tied = lookedUpIn(all, module.path);
      FailureOr<AdaptedWeight *> table = tied ? tied : named.find(module.path + ".weight");
      if (failed(table))
        return failure();
      Tokens own{**table, module.path, module.rows};
      if (failed(check(own, "--adapter " + folder.getValue())))
        return failure();
      if (isThere(tables, own)) // a tied head and its table have the same rows
        continue;
      FailureOr<FolderTensor> first = named.tensor(module.key(), typeOf(own).getShape());
      if (failed(first))
        return failure();
      own.first = *first;
      tables.push_back(own);
    }
    return success();
  }

  /// The module that looks rows up: a tied table may have the name of the head.
  static std::string pathOf(AdaptedWeight &weight) {
    for (OpOperand &use : weight.value.getUses())
      if (PlaceAttr place = placeOf(use.getOwner());
          place && isLookUp(use) && !weight.sites.empty() && !place.getModule().empty())
        return place.getModule().str();
    return weight.path();
  }

  static AdaptedWeight *lookedUpIn(MutableArrayRef<AdaptedWeight> all, const std::string &path) {
    const auto fits = [&](AdaptedWeight &weight) {
      return readsRows(weight) && !weight.sites.empty() && rt::endsWithPath(pathOf(weight), path);
    };
    auto found = llvm::find_if(all, fits);
    return found == all.end() || std::count_if(found, all.end(), fits) > 1 ? nullptr : &*found;
  }

  static bool isThere(ArrayRef<Tokens> tables, Tokens &own) {
    return llvm::any_of(tables, [&](const Tokens &other) {
      return other.table.state == own.table.state && other.rows == own.rows;
    });
  }

  static bool readsRows(AdaptedWeight &weight) {
    return rankOf(weight.value) == 2 && llvm::any_of(weight.value.getUses(), isLookUp);
  }

  static bool isLookUp(OpOperand &use) {
    auto gather = dyn_cast<onnx::GatherOp>(use.getOwner());
    return gather && use.getOperandNumber() == 0 && gather.getAxis() == 0;
  }

  LogicalResult check(Tokens &own, StringRef option) {
    auto refuse = [&] { return getOperation().emitError() << option << ": '" << own.table.name() << "' "; };
    if (!readsRows(own.table))
      return refuse() << "(" << own.table.value.getType() << ") is no table that rows are looked up in";
    const int64_t rows = shapeOf(own.table.value)[0];
    std::set<int64_t> seen;
    for (int64_t row : own.rows) {
      if (row < 0 || row >= rows)
        return refuse() << "has " << rows << " rows, and row " << row << " was to train";
      if (!seen.insert(row).second)
        return refuse() << "was to train row " << row << " twice; name it once";
    }
    if (own.rows.empty())
      return refuse() << "was to train no row; name some";
    return checkTrainsNot(getOperation(), own.table, option);
  }

  static RankedTensorType typeOf(const Tokens &own) {
    return RankedTensorType::get({static_cast<int64_t>(own.rows.size()), shapeOf(own.table.value)[1]},
                                 elementOf(own.table.value));
  }

  void insert(Tokens &own) {
    auto mark = markOf(own.table, tune::Factor::Tokens, own.path);
    mark = tune::AdapterAttr::get(&getContext(), mark.getFactor(), mark.getBase(), mark.getScale(),
                                  BoolAttr::get(&getContext(), false), mark.getPath(), mark.getFrom(),
                                  FlatSymbolRefAttr(), own.rows);
    Attribute init = own.first.place ? own.first.place : UnitAttr::get(&getContext());
    const RankedTensorType type = typeOf(own);
    added += type.getNumElements();
    Value tokens =
        addParameter(model, mark, own.table.path() + ".trainable_tokens_delta", type, init, own.first.stored);
    SmallVector<OpOperand *> lookUps, others;
    for (OpOperand &use : own.table.value.getUses())
      (isLookUp(use) ? lookUps : others).push_back(&use);
    for (OpOperand *use : lookUps)
      replaceFound(cast<onnx::GatherOp>(use->getOwner()), tokens, own.rows);
    if (others.empty())
      return;
    Value whole = changedTable(own, tokens, others);
    for (OpOperand *use : others)
      use->set(whole);
  }

  static Value numbers(OpBuilder &builder, Location loc, ArrayRef<int64_t> values, Type element) {
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
    SmallVector<APInt> words;
    for (int64_t value : values)
      words.emplace_back(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(value), /*isSigned=*/true);
    return onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, words));
  }

  /// Where a number is that of a token, its row comes from there: a product with ones and zeros, so that the
  /// gradient is of these rows alone.
  void replaceFound(onnx::GatherOp gather, Value tokens, ArrayRef<int64_t> rows) {
    PlacedBuilder builder(gather);
    builder.setInsertionPointAfter(gather);
    const Location loc = gather.getLoc();
    Value found = gather->getResult(0), indices = gather.getIndices();
    SmallVector<int64_t> column(shapeOf(indices));
    column.push_back(1);
    const int64_t axis = rankOf(indices), table = shapeOf(gather.getData())[0];
    Value apart = onnx::ReshapeOp::create(builder, loc, indices, column);
    SmallVector<int64_t> fromEnd; // numbers below 0 count from the end
    for (int64_t row : rows)
      fromEnd.push_back(row - table);
    Type element = elementOf(indices), floats = elementOf(tokens);
    auto which = [&](ArrayRef<int64_t> values) -> Value {
      Value equal = onnx::EqualOp::create(builder, loc, apart, numbers(builder, loc, values, element));
      return onnx::CastOp::create(builder, loc, equal, TypeAttr::get(floats));
    };
    Value ones = onnx::AddOp::create(builder, loc, which(rows), which(fromEnd));
    Value replaced = onnx::MatMulOp::create(builder, loc, ones, tokens, /*transA=*/false, /*transB=*/false);
    Value any = onnx::ReduceSumOp::create(builder, loc, ones, ArrayRef<int64_t>{axis}, true);
    Value isToken = onnx::GreaterOp::create(builder, loc, any, scalarLike(builder, loc, any, 0));
    Value whole = onnx::WhereOp::create(builder, loc, isToken, replaced, found);
    found.replaceAllUsesExcept(whole, whole.getDefiningOp());
  }

  /// The table with the tokens in it: what a tied head reads.
  Value changedTable(Tokens &own, Value tokens, ArrayRef<OpOperand *> uses) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    PlacedBuilder builder(first);
    const Location loc = first->getLoc();
    Value places = numbers(builder, loc, own.rows, builder.getI64Type());
    places = onnx::ReshapeOp::create(builder, loc, places,
                                     ArrayRef<int64_t>{static_cast<int64_t>(own.rows.size()), 1});
    return onnx::ScatterNDOp::create(builder, loc, own.table.value, places, tokens,
                                     builder.getStringAttr("none"));
  }
};
} // namespace
} // namespace kedge::adapters
