/* The C interface between a compiled program and the runtime: the symbols that the compiler's object file
 * defines, and the form of a generated kernel. abi/program.md describes the JSON text that connects them.
 * All of it is constant: any thread may read it at any time, and nothing here can fail. Sizes and offsets are
 * bytes. Requires a C99 or C++11 compiler. */
#ifndef KEDGE_ABI_H
#define KEDGE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A generated kernel. `args`: pointers to the first bytes of the operands in the order of the launch, first
 * those that are read, then those that are written. [begin, end): a slice of the launch's "iterations", which
 * are parallel. The runtime may cut them at any multiple of "grain", and results do not depend on the cut. A
 * kernel allocates nothing. Shape of an operand: that of its value ("outputs" lists those that are written),
 * elements packed with the last axis fastest, at a multiple of the arena's "align" or within such a buffer;
 * no byte beyond it is touched. Errors: none; a kernel cannot fail. Threads: any; slices of one launch may
 * run at the same time, and launches one after the other, as "waits" say. */
typedef void (*KedgeKernel)(char *const *args, int64_t begin, int64_t end);

/* A row of the table of kernels. `name`: as the launch's "kernel" has it, with a zero at its end; "call OP"
 * is a function of a plugin (kernel.h), which has another form and is cast to this one. */
typedef struct KedgeKernelEntry {
  const char *name;
  KedgeKernel function;
} KedgeKernelEntry;

/* The program as JSON text in UTF-8 (abi/program.md), and its bytes. It need not end in a zero byte. */
extern const char kedge_program_json[];
extern const uint64_t kedge_program_json_size;

/* Bytes that the JSON refers to by offset and length: inline constants, embedded weights, literals of the
 * export skeleton; and how many. At a multiple of 64 bytes; may be none. */
extern const unsigned char kedge_program_data[];
extern const uint64_t kedge_program_data_size;

/* All kernels, each once, in no order that means anything, and how many; launches refer to them by name. */
extern const KedgeKernelEntry kedge_kernels[];
extern const uint64_t kedge_kernel_count;

/* Functions that make the runtime's own kernels known, those that launches name; a null pointer ends the
 * list. A program that is linked without it has all of them. Errors: none. Threads: called once, by the first
 * that asks for a kernel. */
typedef void (*KedgeRegistration)(void);
extern KedgeRegistration const kedge_library_kernels[];

#ifdef __cplusplus
}
#endif
#endif
