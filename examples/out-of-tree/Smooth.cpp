#include "Smooth.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

using namespace smooth;

#include "SmoothDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Smooth.cpp.inc"

void SmoothDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Smooth.cpp.inc"
      >();
  addInterface<kedge::OnnxDomainInterface>("com.example.filters");
}

/// A kernel cannot fail: what it cannot compute is refused here.
llvm::LogicalResult SmoothOp::verify() {
  auto type = llvm::cast<mlir::RankedTensorType>(getResult().getType());
  if (type.getRank() == 0 || !(type.getElementType().isF32() || type.getElementType().isBF16()))
    return emitOpError("is of f32 or bf16 tensors with an axis, found ") << type;
  const double decay = getDecay().convertToDouble();
  if (!(decay >= 0 && decay < 1))
    return emitOpError("has a decay of ") << decay << "; expected 0 <= decay < 1";
  return llvm::success();
}

/// The average is linear, and its transpose runs the other way.
llvm::LogicalResult SmoothOp::buildGradient(mlir::OpBuilder &builder, mlir::ValueRange resultGrads,
                                            llvm::SmallVectorImpl<mlir::Value> &operandGrads) {
  operandGrads.push_back(SmoothOp::create(builder, getLoc(), getX().getType(), resultGrads[0], getDecayAttr(),
                                          builder.getI64IntegerAttr(getReverse() ? 0 : 1)));
  return mlir::success();
}

std::string SmoothOp::kernelFunction() { return "example_smooth"; }

/// The archive that kedge_add_kernels makes; for this machine alone.
std::string SmoothOp::kernelFile(llvm::StringRef machine) {
  static const char anchor = 0;
  return machine.empty() ? kedge::fileBeside(&anchor, "smooth-kernels.a") : "";
}

/// One row after the other has nothing to do with the next.
int64_t SmoothOp::kernelIterations(mlir::DictionaryAttr, mlir::TypeRange, mlir::TypeRange results) {
  auto type = llvm::cast<mlir::RankedTensorType>(results[0]);
  return mlir::ShapedType::getNumElements(type.getShape().drop_back());
}

double SmoothOp::kernelFlops(mlir::DictionaryAttr, mlir::TypeRange, mlir::TypeRange results) {
  return 3.0 * static_cast<double>(llvm::cast<mlir::RankedTensorType>(results[0]).getNumElements());
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "smooth", "1",
          [](mlir::DialectRegistry *registry) { registry->insert<SmoothDialect>(); }};
}
