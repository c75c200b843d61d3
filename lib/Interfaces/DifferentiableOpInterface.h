#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "mlir/IR/OpDefinition.h"
#include "lib/Interfaces/DifferentiableOpInterface.h.inc"
