// The epilogue of a product as kernels of the program's own, for libraries that have no algorithm with it.
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Dialect/Sched/CallProperties.h"
#include "kedge/Dialect/Sched/FastExponentials.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

/// Builds the op that is left when the product alone has run, in a module of its own.
class Rest {
public:
  explicit Rest(sched::LibraryOp call)
      : call(call), scratch(ModuleOp::create(call.getLoc())), b(OpBuilder::atBlockEnd(scratch->getBody())) {
    const int64_t y = call.getInputs().size(), z = y + 1;
    const bool second = call.getNumResults() > 1;
    using enum train::Epilogue;
    const auto epilogue =
        *train::symbolizeEpilogue(sched::propertiesOf<train::FusedProductOp>(call).epilogue.getValue());
    if (epilogue == Gelu)
      make<onnx::GeluOp>({second ? z : y}, {y}, onnx::Approximation::Tanh);
    else if (epilogue == GeluGrad && second)
      make<train::GeluGradSumsOp>({y, 2}, {y, z});
    else if (epilogue == GeluGrad)
      make<train::GeluGradOp>({y, 2}, {y}, onnx::Approximation::Tanh);
    else
      make<onnx::ReduceSumOp>({epilogue == SumsA ? 0 : 1}, {z}, ArrayRef<int64_t>{0}, /*keepdims=*/false);
  }

  sched::ClusterOp cluster() {
    sched::ClusterOp made = buildCluster(b, op, llvm::BitVector(op->getNumResults(), true));
    setPlace(made, placeOf(call));
    sched::markFastExponentials(made);
    return made;
  }

  /// Where the cluster's operands and results lie among the call's.
  SmallVector<int64_t> places;

private:
  template <typename Op, typename... Attributes>
  void make(ArrayRef<int64_t> operands, ArrayRef<int64_t> results, Attributes... attributes) {
    SmallVector<Type> types;
    for (int64_t operand : operands)
      types.push_back(typeOf(operand));
    auto values = UnrealizedConversionCastOp::create(b, call.getLoc(), types, ValueRange()).getResults();
    if constexpr (std::is_same_v<Op, train::GeluGradOp> || std::is_same_v<Op, train::GeluGradSumsOp>)
      op = Op::create(b, call.getLoc(), values[0], values[1], attributes...);
    else
      op = Op::create(b, call.getLoc(), values[0], attributes...);
    places.append(operands.begin(), operands.end());
    places.append(results.begin(), results.end());
  }

  Type typeOf(int64_t place) {
    const int64_t inputs = call.getInputs().size();
    return place < inputs ? call.getInputs()[place].getType() : call.getResult(place - inputs).getType();
  }

  sched::LibraryOp call;
  OwningOpRef<ModuleOp> scratch;
  OpBuilder b;
  Operation *op = nullptr;
};

} // namespace

FailureOr<LaunchCode> GpuEmitter::emitEpilogue(sched::LibraryOp call) {
  Rest rest(call);
  FailureOr<LaunchCode> code = emit(rest.cluster());
  if (failed(code))
    return failure();
  for (KernelLaunch &kernel : code->kernels)
    for (KernelLaunch::Operand &operand : kernel.operands)
      if (operand.kind == KernelLaunch::Operand::Tensor)
        operand.value = rest.places[operand.value];
  return code;
}
