#pragma once
#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "lib/Support/ParsedOption.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Base/KedgePass.h"
#include "passes/Mesh/ExpertLoad.h"
#include "passes/Mesh/GivenCut.h"
#include "passes/Mesh/OptionWords.h"

namespace kedge::mesh {
/// The module beside a step's functions that has them for the rows of one part: kedge-join-parts reads it.
inline constexpr llvm::StringLiteral partModuleName = "part";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Mesh/Passes.h.inc"
} // namespace kedge::mesh
