#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
