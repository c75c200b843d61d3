#pragma once
#include "lib/Interfaces/ShardingRule.h"
#include "lib/Interfaces/ShardingOpInterface.h.inc"
#include "mlir/IR/OpDefinition.h"
