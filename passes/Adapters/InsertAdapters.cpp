#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/Assert.h"
#include "passes/Adapters/AdapterSites.h"
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
};

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

  LogicalResult fromPattern(SmallVectorImpl<Adapter> &adapters) {
    const auto pattern = rt::NamePattern::of("--lora '" + weights + "'", weights);
    double alphaValue = alpha, r = rank;
    for (AdaptedWeight &weight : weightsOf(model)) {
      if (!pattern.isIn(weight.name().str()) || weight.isBias())
        continue;
      if (failed(check(weight, rank, "--lora")))
        return failure();
      adapters.push_back({weight, weight.path(), rank,
                          scaling == Scaling::RankStabilized ? alphaValue / std::sqrt(r) : alphaValue / r,
                          firstA(weight), UnitAttr::get(&getContext())});
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

  Attribute firstA(AdaptedWeight &weight) {
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
      return refuse()
             << "(" << type
             << ") is no weight of a MatMul, Gemm or Conv, nor of grouped products of experts: adapters "
                "are for those alone";
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
    for (const rt::AdaptedModule &module : given.modules()) {
      AdaptedWeight *weight = nullptr;
      if (failed(module.ofParameter ? findParameter(all, given, module, weight)
                                    : find(all, given, module.path + ".weight", weight)) ||
          failed(check(*weight, module.rank, "--adapter " + folder.getValue())))
        return failure();
      adapters.push_back({*weight, module.path, module.rank, module.scale, {}, {}});
      if (failed(setValues(adapters.back(), given, module)))
        return failure();
    }
    return setWholeTensors(all, given);
  }

  /// Whether every module of the folder has a weight whose name begins so.
  static bool fitsAll(MutableArrayRef<AdaptedWeight> all, const rt::AdapterFolder &given, StringRef before) {
    return llvm::all_of(given.modules(), [&](const rt::AdaptedModule &module) {
      const std::string whole = before.str() + module.path + ".weight";
      return llvm::any_of(all, [&](AdaptedWeight &weight) { return weight.weightName() == whole; });
    });
  }

  /// Of several parameters that end alike, the one that is named so, or whose beginning fits the folder's
  /// other names as well.
  static SmallVector<AdaptedWeight *> best(ArrayRef<AdaptedWeight *> fitting,
                                           MutableArrayRef<AdaptedWeight> all, const rt::AdapterFolder &given,
                                           const std::string &end) {
    auto chosen = [&](auto &&fits) { return llvm::to_vector(llvm::make_filter_range(fitting, fits)); };
    auto exact = chosen([&](AdaptedWeight *weight) { return weight->weightName() == end; });
    if (!exact.empty() || fitting.size() < 2)
      return exact.empty() ? llvm::to_vector(fitting) : exact;
    auto shared = chosen([&](AdaptedWeight *weight) {
      return fitsAll(all, given, StringRef(weight->weightName()).drop_back(end.size()));
    });
    return shared.size() == 1 ? shared : llvm::to_vector(fitting);
  }

  /// Of the parameters of a module that the folder adapts, the one that so many later ones are wrapped
  /// around.
  LogicalResult findParameter(MutableArrayRef<AdaptedWeight> all, const rt::AdapterFolder &given,
                              const rt::AdaptedModule &module, AdaptedWeight *&found) {
    std::string owner = module.path;
    size_t later = 0;
    for (; StringRef(owner).ends_with(rt::kWrapped); ++later)
      owner.resize(owner.size() - StringRef(rt::kWrapped).size());
    SmallVector<AdaptedWeight *> fitting;
    for (AdaptedWeight &weight : all) {
      const std::string name = weight.weightName();
      const std::string parent = StringRef(name).rsplit('.').first.str();
      if (rt::endsWithPath(parent, owner) && given.targetsParameter(name))
        fitting.push_back(&weight);
    }
    if (later >= fitting.size())
      return getOperation().emitError()
             << "--adapter " << given.folder() << ": '" << module.path << "' adapts a parameter of '" << owner
             << "', of whose the model has " << fitting.size() << ": it is an adapter of another model";
    found = fitting[fitting.size() - 1 - later];
    return success();
  }

  /// The one parameter that a path of the folder fits.
  LogicalResult find(MutableArrayRef<AdaptedWeight> all, const rt::AdapterFolder &given,
                     const std::string &end, AdaptedWeight *&found) {
    SmallVector<AdaptedWeight *> fitting;
    for (AdaptedWeight &weight : all)
      if (rt::endsWithPath(weight.weightName(), end))
        fitting.push_back(&weight);
    fitting = best(fitting, all, given, end);
    found = fitting.empty() ? nullptr : fitting.front();
    if (fitting.size() > 1)
      return getOperation().emitError()
             << "--adapter " << given.folder() << ": '" << end << "' fits '" << fitting[0]->name()
             << "' and '" << fitting[1]->name() << "': expected one parameter whose name ends so";
    if (found)
      return success();
    return getOperation().emitError() << "--adapter " << given.folder() << ": no parameter's name ends with '"
                                      << end << "': it is an adapter of another model";
  }

  Attribute placeOf(const rt::AdapterFolder &given, const rt::TensorView &view) {
    return train::WeightAttr::get(&getContext(), given.tensorsPath(),
                                  view.data - given.tensors().file().data(),
                                  static_cast<int64_t>(view.desc.bytes()));
  }

  Type storedType(const rt::TensorView &view) {
    return view.desc.type == rt::DType::BF16  ? Type(BFloat16Type::get(&getContext()))
           : view.desc.type == rt::DType::F16 ? Type(Float16Type::get(&getContext()))
                                              : Type();
  }

  static void noteStored(train::StateOp state, Type stored) {
    if (stored)
      state->setAttr(tune::storedName, TypeAttr::get(stored));
  }

  LogicalResult setValues(Adapter &adapter, const rt::AdapterFolder &given, const rt::AdaptedModule &module) {
    const rt::TensorView &a = given.tensor(module.keyA()), &b = given.tensor(module.keyB());
    auto [typeA, typeB] = typesOf(adapter);
    for (const auto &[view, type, key] :
         {std::tuple(&a, typeA, module.keyA()), std::tuple(&b, typeB, module.keyB())})
      if (ArrayRef<int64_t>(view->desc.shape) != type.getShape())
        return getOperation().emitError()
               << "--adapter: " << given.tensorsPath() << ": tensor '" << key << "' is "
               << rt::shapeText(view->desc.shape) << ", the model needs "
               << rt::shapeText(type.getShape().vec()) << ": it is an adapter of another model";
    adapter.initA = placeOf(given, a);
    adapter.initB = placeOf(given, b);
    adapter.storedA = storedType(a);
    adapter.storedB = storedType(b);
    return success();
  }

  /// What trains whole beside the adapters begins with the folder's values.
  LogicalResult setWholeTensors(MutableArrayRef<AdaptedWeight> all, const rt::AdapterFolder &given) {
    for (const std::string &path : given.wholeTensors()) {
      AdaptedWeight *weight = nullptr;
      if (failed(find(all, given, path, weight)))
        return failure();
      const rt::TensorView &view = given.tensor(rt::kAdapterPrefix + path);
      if (ArrayRef<int64_t>(view.desc.shape) != shapeOf(weight->value))
        return getOperation().emitError()
               << "--adapter: " << given.tensorsPath() << ": tensor '" << path << "' is "
               << rt::shapeText(view.desc.shape) << ", '" << weight->name() << "' is "
               << weight->value.getType() << ": it is an adapter of another model";
      weight->state.setInitAttr(placeOf(given, view));
      noteStored(weight->state, storedType(view));
    }
    return success();
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

  Value makeFactor(Adapter &adapter, tune::Factor factor, RankedTensorType type, Attribute init,
                   Operation *behind) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(behind);
    train::StateOp base = adapter.weight.state;
    bool outFirst = adapter.weight.sites.front().outFirst;
    auto mark = tune::AdapterAttr::get(&getContext(), factor, FlatSymbolRefAttr::get(base.getSymNameAttr()),
                                       builder.getF64FloatAttr(adapter.scale), builder.getBoolAttr(!outFirst),
                                       adapter.path);
    std::string name =
        adapter.weight.path() + (factor == tune::Factor::A ? ".lora_A.weight" : ".lora_B.weight");
    auto state = train::StateOp::create(builder, base.getLoc(), name, train::Role::Parameter, type, init,
                                        builder.getStringAttr(name), FlatSymbolRefAttr(), /*decay=*/true,
                                        APFloat(1.0), dist::ShardingAttr());
    state->setAttr(tune::adapterName, mark);
    noteStored(state, factor == tune::Factor::A ? adapter.storedA : adapter.storedB);
    added += type.getNumElements();
    unsigned index = model.getNumArguments();
    auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::State, state.getSymName());
    auto inserted = model.insertArgument(index, type, train::boundTo(binding), base.getLoc());
    KEDGE_ASSERT(succeeded(inserted));
    return model.getArgument(index);
  }

  void insert(Adapter &adapter) {
    auto [typeA, typeB] = typesOf(adapter);
    Operation *base = adapter.weight.state;
    // Behind the base in the order B, A: each goes right after it.
    Value b = makeFactor(adapter, tune::Factor::B, typeB, adapter.initB, base);
    Value a = makeFactor(adapter, tune::Factor::A, typeA, adapter.initA, base);
    for (Site site : adapter.weight.sites) {
      PlacedBuilder builder(site.op);
      builder.setInsertionPointAfter(site.op);
      if (auto grouped = dyn_cast<train::GroupedMatmulOp>(site.op)) {
        join(builder, grouped, a, b, adapter.scale);
        continue;
      }
      Value x = dropped(builder, site.op);
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
