#pragma once
#include "lib/Interfaces/Sharding.h"
#include "lib/Interfaces/ShardingOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"
