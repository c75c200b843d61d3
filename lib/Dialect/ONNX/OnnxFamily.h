// Includes that the generated headers of all op families need.
#pragma once
#include "lib/Dialect/ONNX/ONNXDialect.h"
#include "lib/Interfaces/ClusterableOpInterface.h"
#include "lib/Interfaces/DecomposableOpInterface.h"
#include "lib/Interfaces/DifferentiableOpInterface.h"
#include "lib/Interfaces/PrecisionOpInterface.h"
#include "lib/Interfaces/ViewOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
