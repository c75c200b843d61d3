// Includes that the generated headers of all op families need.
#pragma once
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Interfaces/PrecisionOpInterface.h"
#include "kedge/Interfaces/ViewOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
