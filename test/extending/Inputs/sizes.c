/* Sizes and numbers that callers were compiled with. */
#include "kedge/abi.h"
#include "kedge/compiler.h"
#include "kedge/kernel.h"
#include "kedge/session.h"

_Static_assert(sizeof(kedge_option) == 16, "");
_Static_assert(sizeof(kedge_message) == 32, "");
_Static_assert(KEDGE_BROKEN == 5 && KEDGE_REFUSED == 6 && KEDGE_CANCELLED == 7, "");
_Static_assert(KEDGE_ERROR == 0 && KEDGE_WARNING == 1 && KEDGE_NOTE == 2, "");
_Static_assert(sizeof(kedge_tensor) == 32, "");
_Static_assert(sizeof(kedge_step_result) == 40, "");
_Static_assert(sizeof(KedgeKernelEntry) == 16, "");
_Static_assert(sizeof(kedge_operand) == 24 && sizeof(kedge_attribute) == 32 && sizeof(kedge_call) == 48, "");
