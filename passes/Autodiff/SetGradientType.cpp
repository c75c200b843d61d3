#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Support/FloatType.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_SETGRADIENTTYPE
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct SetGradientType : impl::SetGradientTypeBase<SetGradientType> {
  using Base::Base;

  void run() override {
    func::FuncOp function = getOperation();
    Type element = floatTypeNamed(&getContext(), type);
    if (!element) {
      function.emitError() << "unknown type '" << type.getValue()
                           << "' of gradients: expected fp32, bf16 or fp16";
      return signalPassFailure();
    }
    int64_t cast = 0;
    for (OpOperand &result : returnOf(function)->getOpOperands())
      if (train::bindingOfResult(function, result.getOperandNumber(), train::BindingKind::Gradient))
        cast += castTo(result, element);
    function.setFunctionType(
        FunctionType::get(&getContext(), function.getArgumentTypes(), returnOf(function)->getOperandTypes()));
    addStatistic("gradients cast", cast);
  }

  static bool castTo(OpOperand &result, Type element) {
    Value gradient = result.get();
    if (elementOf(gradient) == element || !isa<FloatType>(elementOf(gradient)) || elementOf(gradient).isF64())
      return false;
    PlacedBuilder builder(result.getOwner(), placeOfProducer(gradient));
    result.set(onnx::CastOp::create(builder, gradient.getLoc(), gradient, TypeAttr::get(element)));
    return true;
  }
};
} // namespace
} // namespace kedge::autodiff
