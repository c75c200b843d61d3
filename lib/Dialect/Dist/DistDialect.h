#pragma once
#include "lib/Dialect/Dist/DistAttrs.h"
