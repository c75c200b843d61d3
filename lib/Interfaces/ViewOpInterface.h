#pragma once
#include "lib/Interfaces/ClusterBody.h"
#include "lib/Interfaces/ViewOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"
