#pragma once
#include "lib/Interfaces/ShardingOpInterface.h.inc"
#include "lib/Interfaces/ShardingRule.h"
#include "mlir/IR/OpDefinition.h"
