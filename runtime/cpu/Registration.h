// The functions that register kernels, one a file: a program's table has those that it needs (kedge/abi.h).
#pragma once
#include "kedge/abi.h"
#include "runtime/calls/KernelFiles.h"

/// KEDGE_REGISTER(Conv) { registerKernel(...); }
#define KEDGE_REGISTER(NAME) extern "C" void kedge_register_##NAME()

#define KEDGE_DECLARE(NAME, ...) KEDGE_REGISTER(NAME);
KEDGE_KERNEL_FILES(KEDGE_DECLARE)
#undef KEDGE_DECLARE
