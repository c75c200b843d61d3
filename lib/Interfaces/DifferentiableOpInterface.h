#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "lib/Interfaces/DifferentiableOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"
