#pragma once
#include "kedge/Interfaces/Sharding.h"
#include "mlir/IR/OpDefinition.h"

#include "kedge/Interfaces/ShardingOpInterface.h.inc"
