#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "passes/Precision/Floats.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/WorkingCopies.h"

namespace kedge::precision {
#define GEN_PASS_DEF_INSERTCASTS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// Casts of values, one for each type that is asked for.
class Casts {
public:
  /// `value` with this element type, for `user`. What was cast up from that type is taken from before the
  /// cast.
  Value to(Value value, Type element, Operation *user) {
    if (elementOf(value) == element)
      return value;
    if (auto cast = value.getDefiningOp<onnx::CastOp>();
        cast && elementOf(cast.getX()) == element && isCastable(cast.getX()))
      return cast.getX();
    Value &made = known[{value, element}];
    if (!made) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      made = onnx::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(element));
      PlaceAttr place = placeOfProducer(value);
      setPlace(made.getDefiningOp(), place ? place : placeOf(user));
    }
    return made;
  }

private:
  llvm::DenseMap<std::pair<Value, Type>, Value> known;
};

struct InsertCasts : impl::InsertCastsBase<InsertCasts> {
  using Base::Base;
  int64_t copies = 0, narrowed = 0;

  void run() override {
    auto model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to cast");
      return signalPassFailure();
    }
    copies = narrowed = 0;
    Casts casts;
    useWorkingCopies(model, casts);
    for (Operation &op : llvm::make_early_inc_range(model.getBody().front().without_terminator()))
      if (failed(castOperands(&op, casts)))
        return signalPassFailure();
    keepOutputTypes(model, casts);
    addStatistic("casts", eraseUnusedCasts(model));
    addStatistic("working copies", copies);
    addStatistic("frozen tensors in 16 bits", narrowed);
  }

  /// Parameters that are read in 16 bits become arguments of that type; float inputs are cast where they
  /// enter.
  void useWorkingCopies(func::FuncOp model, Casts &casts) {
    SmallVector<CopiedState> made;
    const SymbolTable symbols(getOperation()); // of the masters
    for (BlockArgument argument : model.getArguments()) {
      auto precision = model.getArgAttrOfType<TypeAttr>(argument.getArgNumber(), kPrecision);
      FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
      if (!precision)
        continue;
      model.removeArgAttr(argument.getArgNumber(), kPrecision);
      if (!symbol)
        continue; // an input: ops ask for the cast
      auto master = symbols.lookup<train::StateOp>(symbol.getValue());
      if (master.getRole() == train::Role::Frozen) {
        // It never changes: this form of it is enough, and files have the digits that it lacks.
        auto type = cast<RankedTensorType>(master.getType()).clone(precision.getValue());
        master.setTypeAttr(TypeAttr::get(type));
        argument.setType(type);
        ++narrowed;
        continue;
      }
      train::StateOp working = makeWorkingCopy(master, precision.getValue());
      argument.setType(working.getType());
      train::bindArgument(model, argument.getArgNumber(), bindingOf(working));
      made.push_back({master, working});
    }
    model.setFunctionType(FunctionType::get(&getContext(), model.getBody().front().getArgumentTypes(),
                                            model.getFunctionType().getResults()));
    addToRestore(model, made);
    copies = made.size();
  }

  LogicalResult castOperands(Operation *op, Casts &casts) {
    auto precision = op->getAttrOfType<TypeAttr>(kPrecision);
    if (!precision)
      return success();
    op->removeAttr(kPrecision);
    for (OpOperand &operand : op->getOpOperands())
      if (isGoverned(operand))
        operand.set(casts.to(operand.get(), precision.getValue(), op));
    return inferTypesAgain(op);
  }

  LogicalResult inferTypesAgain(Operation *op) {
    auto inferring = dyn_cast<InferTypeOpInterface>(op);
    if (!inferring)
      return op->emitOpError("cannot be cast: its result types do not follow from its operands");
    SmallVector<Type> types;
    if (failed(inferring.inferReturnTypes(&getContext(), op->getLoc(), op->getOperands(),
                                          op->getAttrDictionary(), op->getPropertiesStorage(),
                                          op->getRegions(), types)))
      return op->emitOpError("cannot be computed on 16-bit operands; keep it in f32 by a line 'fp32 op:")
             << op->getName().stripDialect() << "' of --precision-policy FILE";
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      result.setType(type);
    return success();
  }

  void keepOutputTypes(func::FuncOp model, Casts &casts) {
    Operation *terminator = model.getBody().front().getTerminator();
    for (auto [operand, type] : llvm::zip(terminator->getOpOperands(), model.getFunctionType().getResults()))
      operand.set(casts.to(operand.get(), cast<RankedTensorType>(type).getElementType(), terminator));
  }

  /// Casts that were asked for and then stepped over. Returns how many are left.
  int64_t eraseUnusedCasts(func::FuncOp model) {
    int64_t left = 0;
    for (auto cast : llvm::make_early_inc_range(model.getBody().front().getOps<onnx::CastOp>()))
      if (cast.use_empty())
        cast.erase();
      else if (isWorkingType(elementOf(cast.getX())) && isWorkingType(elementOf(cast.getResult())))
        ++left;
    return left;
  }
};
} // namespace
} // namespace kedge::precision
