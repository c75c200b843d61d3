/* A kernel of your own: the function that computes an op of a plugin on a CPU (LinkedKernelOpInterface.td).
 * It stands in an object file that compiled programs are linked with, so it may use libc, libm and pthread,
 * and what else is in that file. Requires a C99 or C++11 compiler. */
#ifndef KEDGE_KERNEL_H
#define KEDGE_KERNEL_H

#include "kedge/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Type and shape of a tensor, whose elements are packed in row-major order: `rank` sizes, in elements. */
typedef struct kedge_operand {
  kedge_type type;
  size_t rank;
  const int64_t *shape;
} kedge_operand;

/* An attribute of the op. `numbers`: `count` of them; integers are exact up to 2^53, true is 1. `text`: of a
 * string, UTF-8 with a zero at its end, otherwise NULL. */
typedef struct kedge_attribute {
  const char *name;
  const char *text;
  size_t count;
  const double *numbers;
} kedge_attribute;

/* What is known of a call before it runs: the same for each step. The attributes are in the order of their
 * names. Operands that the op leaves out are not counted. */
typedef struct kedge_call {
  size_t input_count;
  const kedge_operand *inputs;
  size_t output_count;
  const kedge_operand *outputs;
  size_t attribute_count;
  const kedge_attribute *attributes;
} kedge_call;

/* Computes the parts [begin, end) of the parts that the op says there are (kernelIterations), 0 to their
 * number. Shape: `inputs` and `outputs` point to the first elements of what `call` describes, in its order,
 * aligned as their types ask; outputs overlap nothing. They hold anything before: each part writes all of its
 * elements.
 *
 * Errors: none. A kernel cannot fail; what can be wrong with shapes and attributes is the op's verifier's.
 * Threads: any. Several may run parts of one call at the same time, so a part writes no element of another's,
 * and what it writes depends neither on the cut nor on the order. Nothing is kept from call to call. */
typedef void (*kedge_kernel)(const kedge_call *call, const void *const *inputs, void *const *outputs,
                             int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif
#endif
