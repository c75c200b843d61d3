// Arguments of a gradient case.
#pragma once
#include "lib/Interpret/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <random>

namespace kedge::test {

/// Elements that are not of a float type are cut off.
interpret::HostTensor makeTensor(mlir::RankedTensorType type, const std::vector<double> &values);

/// Values as the argument's attributes ask for (GradientCheck.h).
std::vector<double> drawArgument(mlir::func::FuncOp function, mlir::BlockArgument argument,
                                 std::mt19937 &random);

/// In [-1, 1], one an element.
std::vector<double> drawWeights(mlir::Value result, std::mt19937 &random);

} // namespace kedge::test
