#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Interfaces/ViewOpInterface.h"

#include "kedge/Interfaces/ClusterableOpInterface.cpp.inc"
#include "kedge/Interfaces/DecomposableOpInterface.cpp.inc"
#include "kedge/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "kedge/Interfaces/ViewOpInterface.cpp.inc"
