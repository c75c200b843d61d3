#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Adapters/AdapterSites.h"
#include "passes/Adapters/AdapterStates.h"
#include "passes/Adapters/FolderWeights.h"
#include "passes/Adapters/Magnitude.h"
#include "passes/Adapters/Passes.h"
#include "runtime/format/AdapterFolder.h"
#include "runtime/io/Error.h"
#include "runtime/io/NamePattern.h"
#include <cmath>

namespace kedge::adapters {
#define GEN_PASS_DEF_INSERTADAPTERS
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

/// A weight with what it is given.
struct Adapter {
  AdaptedWeight weight;
  std::string path; ///< in a folder of adapters
  int64_t rank = 0;
  double scale = 0;
  Attribute initA, initB;
  Type storedA = {}, storedB = {}; ///< in a folder's file; null: as here
  bool hasMagnitude = false;
  Attribute initMagnitude = {}; ///< null: the norms of the weight
  Type storedMagnitude = {};
  std::optional<tune::Decomposition> from = std::nullopt;

  bool isEmbedding() const { return isa<onnx::GatherOp>(weight.sites.front().op); }
};

/// Rows of a table of embeddings are looked up and nothing else: [in, out] of a product with one-hot rows.
void findLookUps(AdaptedWeight &weight) {
  if (!weight.sites.empty() || !isa_and_nonnull<onnx::GatherOp>(weight.other) || rankOf(weight.value) != 2)
    return;
  for (OpOperand &use : weight.value.getUses()) {
    auto gather = dyn_cast<onnx::GatherOp>(use.getOwner());
    if (!gather || use.getOperandNumber() != 0 || gather.getAxis() != 0)
      return weight.sites.clear();
    weight.sites.push_back({gather, /*outFirst=*/false});
  }
  weight.other = nullptr;
}

struct InsertAdapters : impl::InsertAdaptersBase<InsertAdapters> {
  using Base::Base;
  func::FuncOp model;
  int64_t nextId = 0, added = 0;
  double ratio = 0;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to put adapters into");
      return signalPassFailure();
    }
    added = 0;
    ratio = dropout;
    SmallVector<Adapter> adapters;
    if (failed(checkOptions()) || failed(folder.empty() ? fromPattern(adapters) : fromFolder(adapters)))
      return signalPassFailure();
    nextId = firstFreeId();
    for (Adapter &adapter : adapters)
      insert(adapter);
    addStatistic("adapters", adapters.size());
    addStatistic("parameters added", added);
  }

  LogicalResult checkOptions() {
    if (rank < 1)
      return getOperation().emitError() << "--lora-rank " << rank.getValue() << ": expected a rank from 1";
    for (const NumberRule &rule : rankPattern)
      if (rule.number != std::floor(rule.number) || rule.number > 1e6)
        return getOperation().emitError()
               << "--lora-rank-pattern " << rule.text() << ": expected a whole number from 1 to 1000000";
    return success();
  }

  /// Random ops of the model are keyed by numbers from the import; ours come behind them.
  int64_t firstFreeId() {
    int64_t largest = 0;
    model.walk([&](Operation *op) {
      if (auto id = op->getAttrOfType<IntegerAttr>("op_id"))
        largest = std::max(largest, id.getInt());
    });
    return largest + 1;
  }

  /// What the first rule for such a name says.
  static double numberOf(ArrayRef<NumberRule> rules, const std::string &name, double otherwise) {
    for (const NumberRule &rule : rules)
      if (rule.names.isIn(name))
        return rule.number;
    return otherwise;
  }

  LogicalResult fromPattern(SmallVectorImpl<Adapter> &adapters) {
    const auto pattern = rt::NamePattern::of("--lora '" + weights + "'", weights);
    for (AdaptedWeight &weight : weightsOf(model)) {
      const std::string name = weight.name().str();
      if (!pattern.isIn(name) || weight.isBias())
        continue;
      findLookUps(weight);
      const double alphaValue = numberOf(alphaPattern, name, alpha),
                   r = std::floor(numberOf(rankPattern, name, static_cast<double>(rank)));
      const auto ownRank = static_cast<int64_t>(r);
      if (failed(check(weight, ownRank, "--lora")) || failed(checkForm(weight)))
        return failure();
      adapters.push_back({weight, weight.path(), ownRank,
                          scaling == Scaling::RankStabilized ? alphaValue / std::sqrt(r) : alphaValue / r,
                          firstA(weight, ownRank), UnitAttr::get(&getContext())});
      setForm(adapters.back());
    }
    if (adapters.empty())
      return getOperation().emitError()
             << "--lora '" << weights
             << "': no weight of a MatMul, Gemm or Conv has such a name; kedge lint --json lists "
                "the names of all tensors";
    nameExperts(adapters);
    return success();
  }

  /// As peft does: parameters of one module are wrapped one after the other, the first one innermost.
  static void nameExperts(MutableArrayRef<Adapter> adapters) {
    llvm::StringMap<int64_t> within;
    for (Adapter &adapter : llvm::reverse(adapters)) {
      if (!isa<train::GroupedMatmulOp>(adapter.weight.sites.front().op))
        continue;
      adapter.path.erase(std::min(adapter.path.size(), adapter.path.find_last_of('.')));
      const std::string module = adapter.path;
      for (int64_t wrapped = 0; wrapped < within[module]; ++wrapped)
        adapter.path += rt::kWrapped;
      ++within[module];
    }
  }

  /// What --lora-dora and --lora-init ask for.
  LogicalResult checkForm(AdaptedWeight &weight) {
    const bool isMatrix =
        llvm::all_of(weight.sites, [](Site site) { return isa<onnx::MatMulOp, onnx::GemmOp>(site.op); });
    const char *form = magnitude                    ? "--lora-dora"
                       : init == FirstValues::Pissa ? "--lora-init pissa"
                       : init == FirstValues::Olora ? "--lora-init olora"
                                                    : nullptr;
    if (form && !isMatrix)
      return getOperation().emitError()
             << form << ": '" << weight.name()
             << "' is no matrix of a product: not available yet for convolutions, experts and "
                "embeddings; leave it out of --lora";
    return success();
  }

  void setForm(Adapter &adapter) {
    adapter.hasMagnitude = magnitude;
    if (init == FirstValues::Pissa || init == FirstValues::Olora) {
      adapter.from = init == FirstValues::Pissa ? tune::Decomposition::Pissa : tune::Decomposition::Olora;
      adapter.initA = adapter.initB = UnitAttr::get(&getContext()); // the runtime computes both
    }
    if (!adapter.isEmbedding())
      return;
    adapter.initB = tune::RandomAttr::get(&getContext(), tune::Distribution::Normal,
                                          FloatAttr::get(Float64Type::get(&getContext()), 1.0));
    adapter.initA = UnitAttr::get(&getContext());
  }

  Attribute firstA(AdaptedWeight &weight, int64_t rank) {
    int64_t inputs = 1;
    const auto shape = weight.shape();
    for (int64_t size : llvm::drop_begin(shape))
      inputs *= size;
    bool normal = init == FirstValues::Gaussian;
    double amount = normal ? 1.0 / static_cast<double>(rank) : 1 / std::sqrt(static_cast<double>(inputs));
    return tune::RandomAttr::get(&getContext(),
                                 normal ? tune::Distribution::Normal : tune::Distribution::Uniform,
                                 FloatAttr::get(Float64Type::get(&getContext()), amount));
  }

  /// `option` asks for an adapter of the weight.
  LogicalResult check(AdaptedWeight &weight, int64_t rank, StringRef option) {
    auto refuse = [&] { return getOperation().emitError() << option << ": '" << weight.name() << "' "; };
    auto type = cast<RankedTensorType>(weight.value.getType());
    if (weight.sites.empty())
      return refuse() << "(" << type
                      << ") is no weight of a MatMul, Gemm or Conv, nor of grouped products of experts, nor "
                         "a table of "
                         "embeddings: adapters are for those alone";
    if (weight.state.getRole() == train::Role::Parameter)
      return refuse()
             << "trains as it is (--train): it cannot have an adapter, too; leave it out of one of them";
    if (weight.other)
      return refuse() << "is also read by " << weight.other->getName().getStringRef()
                      << ", which an adapter would not change: a merged weight could not say so";
    if (llvm::any_of(weight.sites, [&](Site site) { return site.outFirst != weight.sites.front().outFirst; }))
      return refuse() << "is used both as it is and transposed: one adapter cannot fit both";
    const bool isOfExperts =
        llvm::all_of(weight.sites, [](Site site) { return isa<train::GroupedMatmulOp>(site.op); });
    if (isOfExperts && ratio != 0)
      return refuse() << "is of experts, whose adapters have no dropout (neither have peft's); give "
                         "--lora-dropout 0";
    if (ratio != 0 && isa<onnx::GatherOp>(weight.sites.front().op))
      return refuse()
             << "is a table of embeddings, whose adapters have no dropout (neither have peft's); give "
                "--lora-dropout 0";
    if (!isOfExperts && !weight.isConvolution() && type.getRank() != 2)
      return refuse() << "(" << type << ") is no matrix: adapters are for matrices and convolutions";
    for (Site site : weight.sites)
      if (auto conv = dyn_cast<onnx::ConvOp>(site.op); conv && conv.getGroup() != 1)
        return refuse() << "is of a convolution in " << conv.getGroup() << " groups, which has no adapters";
    SmallVector<int64_t> shape = weight.shape();
    int64_t inputs = 1;
    for (int64_t size : ArrayRef(shape).drop_front())
      inputs *= size;
    if (rank > std::min(shape[0], inputs))
      return refuse() << "has rank " << std::min(shape[0], inputs) << " at most (" << type
                      << "), and its adapter was to have " << rank << "; give a smaller --lora-rank";
    return success();
  }

  LogicalResult fromFolder(SmallVectorImpl<Adapter> &adapters) {
    LogicalResult done = success();
    const auto read = [&] { done = fromFolder(adapters, rt::AdapterFolder::open(folder)); };
    const auto report = [&](const char *text) { getOperation().emitError() << "--adapter: " << text; };
    return success(succeeded(reportingFailures(read, report)) && succeeded(done));
  }

  LogicalResult fromFolder(SmallVectorImpl<Adapter> &adapters, const rt::AdapterFolder &given) {
    ratio = given.dropout();
    SmallVector<AdaptedWeight> all = weightsOf(model);
    llvm::for_each(all, findLookUps);
    FolderWeights named(getOperation(), all, given);
    for (const rt::AdaptedModule &module : given.modules()) {
      FailureOr<AdaptedWeight *> weight =
          module.ofParameter ? named.findParameter(module) : named.find(module.path + ".weight");
      if (failed(weight) || failed(check(**weight, module.rank, "--adapter " + folder.getValue())))
        return failure();
      magnitude = module.hasMagnitude;
      init = given.splits("pissa")   ? FirstValues::Pissa
             : given.splits("olora") ? FirstValues::Olora
                                     : FirstValues::Kaiming;
      if (failed(checkForm(**weight)))
        return failure();
      adapters.push_back({**weight, module.path, module.rank, module.scale, {}, {}});
      setForm(adapters.back());
      if (failed(setValues(adapters.back(), named, module)))
        return failure();
    }
    return named.setWholeTensors();
  }

  LogicalResult setValues(Adapter &adapter, FolderWeights &named, const rt::AdaptedModule &module) {
    auto [typeA, typeB] = typesOf(adapter);
    FailureOr<FolderTensor> a = named.tensor(module.keyA(), typeA.getShape()),
                            b = named.tensor(module.keyB(), typeB.getShape());
    if (failed(a) || failed(b))
      return failure();
    adapter.initA = a->place, adapter.initB = b->place;
    adapter.storedA = a->stored, adapter.storedB = b->stored;
    if (!module.hasMagnitude)
      return success();
    FailureOr<FolderTensor> magnitudes = named.tensor(module.keyMagnitude(), {typeB.getDimSize(0)});
    if (succeeded(magnitudes))
      adapter.initMagnitude = magnitudes->place, adapter.storedMagnitude = magnitudes->stored;
    return magnitudes;
  }

  /// Of A and B.
  std::pair<RankedTensorType, RankedTensorType> typesOf(const Adapter &adapter) {
    Type element = elementOf(adapter.weight.value);
    SmallVector<int64_t> shape = adapter.weight.shape();
    SmallVector<int64_t> a = shape, b(shape.size(), 1);
    a[0] = b[1] = adapter.rank * adapter.weight.experts();
    b[0] = shape[0];
    return {RankedTensorType::get(a, element), RankedTensorType::get(b, element)};
  }

  static std::string suffixOf(tune::Factor factor) {
    const bool isOfModule = factor == tune::Factor::A || factor == tune::Factor::B;
    return (isOfModule                          ? ".lora_" + tune::stringifyFactor(factor) + ".weight"
            : factor == tune::Factor::Magnitude ? ".lora_magnitude_vector"
                                                : ".lora_" + tune::stringifyFactor(factor))
        .str();
  }

  /// Begins as the norms of the weight where no folder has it: the runtime computes them.
  Value makeMagnitude(Adapter &adapter, RankedTensorType typeB) {
    Attribute init = adapter.initMagnitude ? adapter.initMagnitude : UnitAttr::get(&getContext());
    return makeFactor(adapter, tune::Factor::Magnitude, typeB.clone({typeB.getDimSize(0)}), init);
  }

  Value makeFactor(Adapter &adapter, tune::Factor factor, RankedTensorType type, Attribute init) {
    Builder builder(&getContext());
    const bool isA = factor == tune::Factor::A || factor == tune::Factor::EmbeddingA;
    Type stored = factor == tune::Factor::Magnitude ? adapter.storedMagnitude
                  : isA                             ? adapter.storedA
                                                    : adapter.storedB;
    auto mark = markOf(adapter.weight, factor, adapter.path);
    mark =
        tune::AdapterAttr::get(&getContext(), factor, mark.getBase(), builder.getF64FloatAttr(adapter.scale),
                               mark.getTransposed(), adapter.path, adapter.from, FlatSymbolRefAttr(), {});
    added += type.getNumElements();
    return addParameter(model, mark, adapter.weight.path() + suffixOf(factor), type, init, stored);
  }

  void insert(Adapter &adapter) {
    auto [typeA, typeB] = typesOf(adapter);
    using tune::Factor;
    const bool looksUp = adapter.isEmbedding();
    Value m = adapter.hasMagnitude ? makeMagnitude(adapter, typeB) : Value();
    // Behind the base in the order B, A: each goes right after it.
    Value b = makeFactor(adapter, looksUp ? Factor::EmbeddingB : Factor::B, typeB, adapter.initB);
    Value a = makeFactor(adapter, looksUp ? Factor::EmbeddingA : Factor::A, typeA, adapter.initA);
    for (Site site : adapter.weight.sites) {
      PlacedBuilder builder(site.op);
      builder.setInsertionPointAfter(site.op);
      if (auto grouped = dyn_cast<train::GroupedMatmulOp>(site.op)) {
        join(builder, grouped, a, b, adapter.scale);
        continue;
      }
      if (auto gather = dyn_cast<onnx::GatherOp>(site.op)) {
        join(builder, gather, a, b, adapter.scale);
        continue;
      }
      Value x = dropped(builder, site.op);
      if (m) {
        withMagnitude(builder, {site, adapter.weight.value, x, a, b, m, adapter.scale});
        continue;
      }
      if (auto conv = dyn_cast<onnx::ConvOp>(site.op))
        join(builder, conv, x, a, b, adapter.scale);
      else
        join(builder, site.op, x, a, b, adapter.scale);
    }
  }

  Value dropped(OpBuilder &builder, Operation *op) {
    Value x = op->getOperand(0);
    if (ratio == 0)
      return x;
    return onnx::DropoutOp::create(
               builder, op->getLoc(), x, builder.getF32FloatAttr(static_cast<float>(ratio)),
               builder.getBoolAttr(true), builder.getI64IntegerAttr(nextId++), builder.getBoolAttr(false))
        ->getResult(0);
  }

  void join(OpBuilder &builder, Operation *op, Value x, Value a, Value b, double scale) {
    auto gemm = dyn_cast<onnx::GemmOp>(op);
    bool transX = gemm ? gemm.getTransA() : cast<onnx::MatMulOp>(op).getTransA();
    double alpha = gemm ? gemm.getAlpha().convertToDouble() : 1;
    Value y = op->getResult(0);
    Value low = onnx::MatMulOp::create(builder, op->getLoc(), x, a, transX, /*transB=*/true);
    auto whole = onnx::GemmOp::create(builder, op->getLoc(), low, b, y, /*transA=*/false, /*transB=*/true,
                                      APFloat(static_cast<float>(scale * alpha)), APFloat(1.0f));
    y.replaceAllUsesExcept(whole, whole);
  }

  /// A row of A for each number, through B: the row that a product with the one-hot vector would give.
  void join(OpBuilder &builder, onnx::GatherOp gather, Value a, Value b, double scale) {
    Location loc = gather.getLoc();
    Value y = gather->getResult(0);
    Value rows = onnx::TransposeOp::create(builder, loc, a, ArrayRef<int64_t>{1, 0});
    Value low = onnx::GatherOp::create(builder, loc, rows, gather.getIndices(), gather.getAxisAttr(),
                                       gather.getPaddingIdxAttr());
    auto whole = onnx::GemmOp::create(builder, loc, low, b, y, /*transA=*/false, /*transB=*/true,
                                      APFloat(static_cast<float>(scale)), APFloat(1.0f));
    y.replaceAllUsesExcept(whole, whole);
  }

  /// A [experts r, in] and B [out, r experts], as peft has them: of each expert r rows, and every so many
  /// columns.
  void join(OpBuilder &builder, train::GroupedMatmulOp product, Value a, Value b, double scale) {
    const Location loc = product.getLoc();
    const auto reshaped = [&](Value value, ArrayRef<int64_t> shape) -> Value {
      return onnx::ReshapeOp::create(builder, loc, value, shape);
    };
    Value y = product.getY(), chosen = product.getExperts();
    const int64_t experts = shapeOf(product.getW())[0], rank = shapeOf(a)[0] / experts;
    const int64_t places = ShapedType::getNumElements(shapeOf(chosen));
    Value rows = reshaped(a, {experts, rank, shapeOf(a)[1]});
    Value columns = onnx::TransposeOp::create(builder, loc, reshaped(b, {shapeOf(b)[0], rank, experts}),
                                              ArrayRef<int64_t>{2, 0, 1});
    Value low = train::GroupedMatmulOp::create(builder, loc, product.getX(), chosen, rows, /*transB=*/true);
    Value delta = train::GroupedMatmulOp::create(builder, loc, reshaped(low, {places, rank}),
                                                 reshaped(chosen, {places, 1}), columns, /*transB=*/true);
    delta = reshaped(delta, shapeOf(y));
    Value scaled = onnx::MulOp::create(builder, loc, delta, scalarLike(builder, loc, delta, scale));
    auto whole = onnx::AddOp::create(builder, loc, y, scaled);
    y.replaceAllUsesExcept(whole, whole);
  }

  void join(OpBuilder &builder, onnx::ConvOp conv, Value x, Value a, Value b, double scale) {
    Location loc = conv.getLoc();
    Value y = conv.getY();
    Value low = onnx::ConvOp::create(builder, loc, x, a, Value(), conv.getStrides(), conv.getPads(),
                                     conv.getDilations(), 1);
    int64_t spatial = rankOf(y) - 2;
    SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
    Value delta = onnx::ConvOp::create(builder, loc, low, b, Value(), ones, zeros, ones, 1);
    Value scaled = onnx::MulOp::create(builder, loc, delta, scalarLike(builder, loc, delta, scale));
    auto whole = onnx::AddOp::create(builder, loc, y, scaled);
    y.replaceAllUsesExcept(whole, whole);
  }
};
} // namespace
} // namespace kedge::adapters
