#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/OpDefinition.h"

#include "kedge/Interfaces/ViewOpInterface.h.inc"
