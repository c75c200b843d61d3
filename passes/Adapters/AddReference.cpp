#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/Assert.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Adapters/Passes.h"

namespace kedge::adapters {
#define GEN_PASS_DEF_ADDREFERENCE
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

/// The ops of @model once more, with its adapters off: what no adapter changes is shared.
class Reference {
public:
  Reference(func::FuncOp model, ModuleOp module) : model(model) {
    for (BlockArgument argument : model.getArguments()) {
      FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
      auto state = symbol ? module.lookupSymbol<train::StateOp>(symbol.getAttr()) : train::StateOp();
      if (state && tune::adapterOf(state))
        ofAdapters.insert(argument);
    }
  }

  bool isNeeded() const { return !ofAdapters.empty(); }

  /// Behind all others: nothing reads it before the loss.
  Value build(Value output) {
    const SmallVector<Operation *> ops =
        llvm::map_to_vector(model.getBody().front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : ops)
      visit(op);
    for (Operation *op : llvm::reverse(made))
      if (op->use_empty() && !llvm::is_contained(op->getResults(), off.lookupOrDefault(output)))
        op->erase();
      else
        ++count;
    return off.lookupOrDefault(output);
  }

  int64_t count = 0;

private:
  bool isOfAdapters(Value value) const { return ofAdapters.contains(value); }

  /// Where an adapter's part is added to a base.
  Value baseOf(Operation *op) const {
    if (auto gemm = dyn_cast<onnx::GemmOp>(op))
      return isOfAdapters(gemm.getA()) && gemm.getC() ? gemm.getC() : Value();
    if (auto sum = dyn_cast<onnx::AddOp>(op); sum && isOfAdapters(sum->getOperand(1)))
      return sum->getOperand(0);
    return {};
  }

  /// A product with adapters is rounded before a bias is added: so it is without them, and nothing joins it
  /// to what reads it.
  Value held(Operation *sum, Value base) {
    OpBuilder builder(model.getBody().front().getTerminator());
    auto identity = onnx::IdentityOp::create(builder, sum->getLoc(), base, /*stops_gradient=*/true);
    setPlace(identity, placeOf(sum));
    made.push_back(identity);
    return identity;
  }

  void visit(Operation *op) {
    if (Value base = baseOf(op))
      return off.map(op->getResult(0), held(op, off.lookupOrDefault(base)));
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return isOfAdapters(operand); })) {
      ofAdapters.insert_range(op->getResults());
      return;
    }
    // Dropout is off, too: also where no adapter comes before it.
    const auto mode = op->getAttrOfType<BoolAttr>("training_mode");
    const bool trains = mode && mode.getValue();
    if (!trains && llvm::none_of(op->getOperands(), [&](Value operand) { return off.contains(operand); }))
      return;
    OpBuilder builder(model.getBody().front().getTerminator());
    Operation *clone = builder.clone(*op, off); // maps the results
    if (mode)
      clone->setAttr("training_mode", builder.getBoolAttr(false));
    made.push_back(clone);
  }

  func::FuncOp model;
  DenseSet<Value> ofAdapters; ///< factors, and what is made of them before it joins a base
  IRMapping off;
  SmallVector<Operation *> made;
};

struct AddReference : impl::AddReferenceBase<AddReference> {
  using Base::Base;

  void run() override {
    auto model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to make a reference of");
      return signalPassFailure();
    }
    Reference reference(model, getOperation());
    if (!reference.isNeeded())
      return;
    Value output = findOutput(model);
    if (!output || failed(checkTrained()))
      return signalPassFailure();
    addResult(model, reference.build(output));
    addStatistic("ops", reference.count);
  }

  /// kedge-add-loss says what there is to choose from.
  Value findOutput(func::FuncOp model) {
    Operation *terminator = model.getBody().front().getTerminator();
    Value found;
    int64_t fitting = 0;
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      auto binding = train::bindingOfResult(model, index, train::BindingKind::Output);
      if (!binding || !isa<FloatType>(elementOf(value)) ||
          (!logits.empty() && binding.getName() != logits.getValue()))
        continue;
      found = value;
      ++fitting;
    }
    if (fitting == 1)
      return found;
    model.emitError() << "a reference is of one output, and " << fitting
                      << " fit: name the one that the loss reads (--logits NAME)";
    return {};
  }

  LogicalResult checkTrained() {
    for (auto state : getOperation().getOps<train::StateOp>())
      if (auto adapter = tune::adapterOf(state);
          adapter &&
          (adapter.getFrom() || !llvm::is_contained({tune::Factor::A, tune::Factor::B,
                                                     tune::Factor::EmbeddingA, tune::Factor::EmbeddingB},
                                                    adapter.getFactor())))
        return getOperation().emitError()
               << "'" << state.getSymName()
               << "': a reference with adapters off is not available yet for --lora-dora, --lora-init pissa "
                  "and olora, "
                  "--ia3 and --train-tokens; give stored log-probabilities (--data ref_logps=)";
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::Parameter && !tune::adapterOf(state))
        return getOperation().emitError()
               << "'" << state.getOnnxName().value_or(state.getSymName())
               << "' trains in addition to the adapters, so the model with adapters off is no reference: "
                  "give its "
                  "log-probabilities as an input (--loss dpo:stored=1), or leave --train out";
    return success();
  }

  static void addResult(func::FuncOp model, Value value) {
    Operation *terminator = model.getBody().front().getTerminator();
    const unsigned index = terminator->getNumOperands();
    auto binding = train::BindingAttr::get(model.getContext(), train::BindingKind::Result, "reference");
    auto inserted = model.insertResult(index, value.getType(), train::boundTo(binding));
    KEDGE_ASSERT(succeeded(inserted));
    terminator->insertOperands(index, value);
  }
};

} // namespace
} // namespace kedge::adapters
