#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "lib/Support/Target.h"
#include "mlir/IR/OpDefinition.h"

#include "lib/Interfaces/DecomposableOpInterface.h.inc"
