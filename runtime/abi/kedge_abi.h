/* The C side of a compiled program: what the object file that the compiler writes defines, and what a
 * generated kernel looks like. The JSON text that ties them together is described in program.md. */
#ifndef KEDGE_ABI_H
#define KEDGE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `args`: pointers to the operands' first bytes in launch order, reads then writes. [begin, end): a slice of
 * the launch's parallel iteration space. The runtime may cut the space anywhere between iterations and run
 * slices at the same time; results do not depend on where. A kernel allocates nothing and never fails. */
typedef void (*KedgeKernel)(char *const *args, int64_t begin, int64_t end);

typedef struct KedgeKernelEntry {
  const char *name;
  KedgeKernel function;
} KedgeKernelEntry;

/* The program as JSON text (program.md), not necessarily ending in a zero byte. */
extern const char kedge_program_json[];
extern const uint64_t kedge_program_json_size;

/* Bytes that the JSON names by offset and length: inline constants, embedded weights, literals of the export
 * skeleton. 64-byte aligned. */
extern const unsigned char kedge_program_data[];
extern const uint64_t kedge_program_data_size;

/* Every generated kernel once; launches name them. */
extern const KedgeKernelEntry kedge_kernels[];
extern const uint64_t kedge_kernel_count;

#ifdef __cplusplus
}
#endif
#endif
