/* The compiler as a library, libkedge-compiler.so: lint, plan and compile within an application.
 *
 * Functions return KEDGE_OK or another code; kedge_compiler_error says what was wrong and what to do. They
 * print nothing, catch no signal and do not end the process. Two things are the process's: an error that LLVM
 * calls fatal (it has no way to give it back) ends it with exit code 1, and LLVM's own options are global.
 *
 * One thread at a time may use a compiler, kedge_compiler_cancel excepted ("Threads: one" below); several
 * compilers may work at the same time. Texts are UTF-8, end with a zero byte, belong to the compiler and are
 * valid until its next call. Requires a C99 or C++11 compiler. */
#ifndef KEDGE_COMPILER_H
#define KEDGE_COMPILER_H

#include "kedge/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows when a function is added, and its first two digits when one
 * changes: major * 100 + minor. */
#define KEDGE_COMPILER_API 101

typedef struct kedge_compiler kedge_compiler;

/* More codes of functions; the numbers follow those of kedge_code. */
typedef enum kedge_compiler_code {
  KEDGE_REFUSED = 6,  /* lint found errors, or no plan is within the budget: where kedge ends with 2 */
  KEDGE_CANCELLED = 7 /* by kedge_compiler_cancel */
} kedge_compiler_code;

typedef enum kedge_severity { KEDGE_ERROR = 0, KEDGE_WARNING = 1, KEDGE_NOTE = 2 } kedge_severity;

/* One thing that is said about a model or a compilation; valid within the callback. */
typedef struct kedge_message {
  kedge_severity severity;
  const char *text; /* a sentence or several, with the file and what to do */
  const char *code; /* of a finding of lint, as docs/guide/lint.md lists them; else "" */
  const char *node; /* the ONNX node that it is about; "" where there is none */
} kedge_message;

/* Makes a compiler. `api` is KEDGE_COMPILER_API of the header that the caller was compiled with: a library
 * that does not have all of it makes none and returns KEDGE_WRONG_CALL. KEDGE_NO_MEMORY: none was made.
 * Errors: as said. Threads: any. */
int kedge_compiler_create(int api, kedge_compiler **compiler);

/* `compiler` may be NULL. No call may be running.
 * Errors: none. Threads: one. */
void kedge_compiler_destroy(kedge_compiler *compiler);

/* "0.1.0 (commit ...)" and LLVM's version, as `kedge --version` prints them. Never freed.
 * Errors: none. Threads: any. */
const char *kedge_compiler_version(void);

/* What calls say from now on, in the order in which it is said, on the thread that made the call. NULL:
 * nobody listens. The callback must not call the compiler, but may cancel it.
 * Errors: none. Threads: one. */
void kedge_compiler_on_message(kedge_compiler *compiler,
                               void (*say)(void *self, const kedge_message *message), void *self);

/* How far long searches are; `share` goes from 0 to 1, and 1 means that one has ended.
 * Unit: parts of one. Errors: none. Threads: one; called on the thread of the call. */
void kedge_compiler_on_progress(kedge_compiler *compiler,
                                void (*tell)(void *self, const char *what, double share), void *self);

/* Ends the call that is running, with KEDGE_CANCELLED: between phases and between tries of a
 * planner: machine code that is being made is finished. Without one it has no effect. Any thread may call it.
 * Errors: none. Threads: any, at any time before kedge_compiler_destroy. */
void kedge_compiler_cancel(kedge_compiler *compiler);

/* The error of the last call that failed, a line or several; "" after one that did not.
 * Errors: none. Threads: one. */
const char *kedge_compiler_error(const kedge_compiler *compiler);

/* `flags` are those of `kedge lint`, `kedge plan` and `kedge compile`, such as {"--precision", "bf16"}; a
 * flag without a value has NULL. The list ends with {NULL, NULL}; NULL is an empty one. A flag that is
 * unknown or has a wrong value is refused before `model`, the path of an ONNX file, is opened. */

/* The findings and the verdict on every initializer, as JSON. KEDGE_REFUSED: some are errors; *json is there.
 * Errors: KEDGE_FAILED (a flag, the file), KEDGE_WRONG_CALL, KEDGE_CANCELLED, KEDGE_NO_MEMORY. Threads: one.
 */
int kedge_compiler_lint(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                        const char **json);

/* The memory report of a step, in bytes and seconds, as JSON. KEDGE_REFUSED: it is not within the budget;
 * *json is there.
 * Errors: those of kedge_compiler_lint. Threads: one. */
int kedge_compiler_plan(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                        const char **json);

/* Writes the program, or what --emit asks for, to `path`: whole, or not at all.
 * Errors: KEDGE_REFUSED where no plan is within the
 * budget, and those of kedge_compiler_lint. Threads: one; two do not write one path. */
int kedge_compiler_compile(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                           const char *path);

/* The same, into memory: `*size` bytes at *bytes, which belong to the compiler as its texts do. Not for
 * --emit lib, which is several files.
 * Errors: those of kedge_compiler_compile. Threads: one. */
int kedge_compiler_compile_to_memory(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                                     const void **bytes, size_t *size);

/* Any command of kedge in its words without "kedge", such as {"why", "model.onnx", NULL} or {"--version",
 * NULL}. *answer is what kedge writes to standard output, *said what it writes to standard error: notes,
 * warnings and errors as lines; both are there whatever is returned, but for KEDGE_WRONG_CALL of a NULL.
 * Messages go to kedge_compiler_on_message, too. Since 101.
 * Errors: those of kedge_compiler_compile. Threads: one. */
int kedge_compiler_command(kedge_compiler *compiler, const char *const *words, const char **answer,
                           const char **said);

#ifdef __cplusplus
}
#endif
#endif
