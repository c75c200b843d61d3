#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "lib/Support/Target.h"
#include "lib/Interfaces/DecomposableOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"
