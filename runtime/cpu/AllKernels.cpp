// Taken from the archive where no compiled program brings a table of its own, as in tests.
#include "runtime/cpu/Registration.h"

#define KEDGE_NAME(NAME, ...) kedge_register_##NAME,
KedgeRegistration const kedge_library_kernels[] = {KEDGE_KERNEL_FILES(KEDGE_NAME) nullptr};
#undef KEDGE_NAME
