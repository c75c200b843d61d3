/* The C interface between a compiled program and the runtime: the symbols that the compiler's object file
 * defines, and the form of a generated kernel. program.md describes the JSON text that connects them. */
#ifndef KEDGE_ABI_H
#define KEDGE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `args`: pointers to the first bytes of the operands in the order of the launch, first those that are read,
 * then those that are written. [begin, end): a slice of the parallel iterations. The runtime may cut them
 * anywhere and run slices at the same time; results do not depend on that. A kernel allocates nothing and
 * cannot fail. */
typedef void (*KedgeKernel)(char *const *args, int64_t begin, int64_t end);

typedef struct KedgeKernelEntry {
  const char *name;
  KedgeKernel function;
} KedgeKernelEntry;

/* The program as JSON text (program.md). It need not end in a zero byte. */
extern const char kedge_program_json[];
extern const uint64_t kedge_program_json_size;

/* Bytes that the JSON refers to by offset and length: inline constants,
 * embedded weights, literals of the export skeleton. 64-byte aligned. */
extern const unsigned char kedge_program_data[];
extern const uint64_t kedge_program_data_size;

/* All generated kernels, each once; launches refer to them by name. */
extern const KedgeKernelEntry kedge_kernels[];
extern const uint64_t kedge_kernel_count;

#ifdef __cplusplus
}
#endif
#endif
