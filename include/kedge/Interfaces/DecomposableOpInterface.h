#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "kedge/Support/Target.h"
#include "mlir/IR/OpDefinition.h"

#include "kedge/Interfaces/DecomposableOpInterface.h.inc"
