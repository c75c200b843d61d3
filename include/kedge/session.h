/* The functions of a library that `kedge compile --emit lib` made: a model that learns within another
 * program.
 *
 * Functions return KEDGE_OK or another kedge_code; kedge_error says what was wrong and what to do. They print
 * nothing, catch no signal and never end the process. One thread at a time may use a session, which need not
 * be the one that opened it; several sessions, of one model or of several, may work at the same time:
 * "Threads: one" below. Text is UTF-8. Requires a C99 or C++11 compiler.
 *
 * Whatever a function says of its errors, a NULL session, name or result that it needs is KEDGE_WRONG_CALL, a
 * session after a call that failed half-way KEDGE_BROKEN, and memory that the machine does not have
 * KEDGE_NO_MEMORY. */
#ifndef KEDGE_SESSION_H
#define KEDGE_SESSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kedge_session kedge_session;

typedef enum kedge_code {
  KEDGE_OK = 0,
  KEDGE_FAILED = 1,     /* because of a file, the model or the machine */
  KEDGE_WRONG_CALL = 2, /* an argument is wrong or missing; the session is unchanged */
  KEDGE_NO_MEMORY = 3,
  KEDGE_NOT_FINITE = 4, /* the loss or the gradients of the step are infinite or not a number */
  KEDGE_BROKEN = 5      /* an earlier call failed half-way: call kedge_resume or kedge_close */
} kedge_code;

/* Types of elements; the numbers are ONNX's. */
typedef enum kedge_type {
  KEDGE_FLOAT32 = 1,
  KEDGE_UINT8 = 2,
  KEDGE_INT8 = 3,
  KEDGE_UINT16 = 4,
  KEDGE_INT16 = 5,
  KEDGE_INT32 = 6,
  KEDGE_INT64 = 7,
  KEDGE_BOOL = 9, /* a byte, 0 or 1 */
  KEDGE_FLOAT16 = 10,
  KEDGE_FLOAT64 = 11,
  KEDGE_UINT32 = 12,
  KEDGE_UINT64 = 13,
  KEDGE_BFLOAT16 = 16
} kedge_type;

/* A flag of the compiled program with its value, which is NULL for a flag without one. A list ends with
 * {NULL, NULL}. Accepted: --steps --lr --min-lr --schedule --warmup --warmup-start --decay-steps
 * --weight-decay --betas --eps --dpo-beta --seed
 * --shuffle --model --weights --weights-partial --adapter --init --threads --on-nan. */
typedef struct kedge_option {
  const char *name;
  const char *value;
} kedge_option;

/* Loads the model and its initial weights. Without --threads it uses as many threads as the machine has
 * cores. `options` may be NULL. On failure *session is NULL, or a session that can only be given to
 * kedge_error and kedge_close.
 * Errors: KEDGE_WRONG_CALL (an option or its value), KEDGE_FAILED (the model, its weights, the machine).
 * Threads: any, several at once. */
int kedge_open(const kedge_option *options, kedge_session **session);

/* The same, but on threads of the caller. run(self, count, task, context) must call task(context, i) for
 * every i from 0 to count - 1, in parallel or in sequence, on any threads, and return after all of them.
 * `count` is at most --threads.
 * Errors: those of kedge_open. Threads: any; `run` is called on the thread of a call. */
typedef void (*kedge_task)(void *context, int64_t index);
typedef void (*kedge_run_tasks)(void *self, int64_t count, kedge_task task, void *context);
int kedge_open_on(const kedge_option *options, kedge_run_tasks run, void *self, kedge_session **session);

/* `session` may be NULL.
 * Errors: none. Threads: one; no call may be running. */
void kedge_close(kedge_session *session);

/* The error text of the last call that failed; valid until the next call.
 * Errors: none; "" where nothing failed. Threads: one. */
const char *kedge_error(const kedge_session *session);
/* Notes of the last call, one a line; mostly empty. Valid until the next call.
 * Errors: none. Threads: one. */
const char *kedge_notes(const kedge_session *session);

/* shape[0] of an input or an output is the rows of a micro-batch. Pointers are valid until the session is
 * closed. */
typedef struct kedge_tensor {
  const char *name;
  kedge_type type;
  size_t rank;
  const int64_t *shape;
} kedge_tensor;

/* `index` counts from 0; KEDGE_WRONG_CALL after the last one. States are parameters and buffers, with their
 * names in ONNX, then what the optimizer keeps, named as in checkpoints: "moment1/NAME", "moment2/NAME",
 * "momentum/NAME" of the parameter NAME.
 * Errors: as said. Threads: one. */
int kedge_input_at(kedge_session *session, size_t index, kedge_tensor *tensor);
int kedge_output_at(kedge_session *session, size_t index, kedge_tensor *tensor);
int kedge_state_at(kedge_session *session, size_t index, kedge_tensor *tensor);
/* What trains. kedge_get_parameters has these one after the other.
 * Errors: as kedge_state_at. Threads: one. */
int kedge_parameter_at(kedge_session *session, size_t index, kedge_tensor *tensor);

/* Sets `rows` rows of an input, in its type, for the next kedge_step, kedge_evaluate or kedge_predict. `data`
 * is not copied: it must stay valid and unchanged until that call returns, with an error or without one: then
 * such inputs are forgotten. `data` NULL and `rows` 0 take an input back. A step takes the same rows as the
 * program: with B rows a micro-batch and A micro-batches, step s takes rows sAB to sAB + AB - 1, modulo
 * `rows`. With AB rows every step takes all of them. For an input without a row dimension, `rows` is 1.
 * Shape: that of kedge_input_at with `rows` in place of shape[0], without gaps, the
 * last axis fastest. Errors: KEDGE_WRONG_CALL (an input that there is not, `rows`). Threads: one. */
int kedge_set_input(kedge_session *session, const char *name, const void *data, int64_t rows);
/* The same with a copy, which stays for all later calls: until kedge_keep_input or kedge_set_input gives this
 * input other rows or takes it back. `data` may change when this returns.
 * Shape, errors and threads: those of kedge_set_input. */
int kedge_keep_input(kedge_session *session, const char *name, const void *data, int64_t rows);

typedef struct kedge_step_result {
  int64_t step;         /* number of this step, from 0 */
  double loss;          /* before the update */
  double learning_rate; /* NaN if the model contains its own update */
  double gradient_norm; /* NaN if the program does not compute it; with --clip-norm it does */
  int skipped;          /* 1 if values were not finite, so that no update was made */
} kedge_step_result;

/* One optimizer step on the inputs that were set. `result` may be NULL.
 * Errors: KEDGE_WRONG_CALL (an input without rows, or numbers of
 * rows that differ), KEDGE_NOT_FINITE (with --on-nan stop), KEDGE_FAILED. Threads: one. */
int kedge_step(kedge_session *session, kedge_step_result *result);
/* The loss of all rows that were set, in evaluation mode.
 * Unit: that of the loss that was compiled, a mean over what counts. Errors: those of kedge_step.
 * Threads: one. */
int kedge_evaluate(kedge_session *session, double *loss);
/* An output of all rows that were set, in evaluation mode, one row after the other; 16-bit floats become
 * 32-bit. `bytes` is the size of `values`. Labels need not be set.
 * Shape: that of kedge_output_at with all rows in place of shape[0]. Errors: those of
 * kedge_step, and KEDGE_WRONG_CALL (an output that there is not, `bytes`). Threads: one. */
int kedge_predict(kedge_session *session, const char *output, void *values, size_t bytes);

/* Copies a state, laid out as the parameter is in the ONNX file; floats are 32-bit. `bytes` is the size of
 * `values`. Where the optimizer averages the weights (schedule-free), a parameter is read as the average that
 * is evaluated and exported; what is set becomes the average, and the point that training goes on from.
 * Shape: that of kedge_state_at. Errors: KEDGE_WRONG_CALL (a state that there is not, `bytes`).
 * Threads: one. */
int kedge_get_state(kedge_session *session, const char *name, void *values, size_t bytes);
int kedge_set_state(kedge_session *session, const char *name, const void *values, size_t bytes);

/* All parameters as one array, in the order and shape of kedge_parameter_at: each in 32-bit floats, laid out
 * as in the ONNX file. `bytes` is the size of `values`: 4 times the elements of all. Errors: KEDGE_WRONG_CALL
 * (`bytes`). Threads: one. */
int kedge_get_parameters(kedge_session *session, float *values, size_t bytes);
int kedge_set_parameters(kedge_session *session, const float *values, size_t bytes);

/* With `keep` other than 0, steps from the next one on keep their gradients; with 0 they no longer do, as
 * when a session is opened.
 * Errors: none of its own. Threads: one. */
int kedge_keep_gradients(kedge_session *session, int keep);
/* The gradient of a parameter in the last step, and those of all parameters as kedge_get_parameters has
 * these: of the loss that the step returned, before clipping. With the option --lr 0 and without
 * --weight-decay a step computes gradients and leaves the parameters.
 * Shape: that of kedge_parameter_at. Errors: KEDGE_WRONG_CALL (a name, `bytes`, or no gradient was
 * kept). Threads: one. */
int kedge_get_gradient(kedge_session *session, const char *name, float *values, size_t bytes);
int kedge_get_gradients(kedge_session *session, float *values, size_t bytes);

/* A step in two calls, with gradients of the caller's between them: averages over many sessions, noise, a
 * clipping of its own. kedge_compute_gradients computes the loss and the gradients of the rows that the next
 * kedge_step would take, for kedge_get_gradients, and updates nothing; running statistics of
 * BatchNormalization move. `result` may be NULL. kedge_apply_gradients makes the optimizer step with these
 * gradients of all parameters, as kedge_get_gradients has them; it reads no rows, and its loss is NaN. With
 * what kedge_compute_gradients computed, both are kedge_step.
 * Shape of `values`: that of kedge_get_parameters. Errors: those of kedge_step, and
 * KEDGE_WRONG_CALL (`bytes`). Threads: one. */
int kedge_compute_gradients(kedge_session *session, kedge_step_result *result);
int kedge_apply_gradients(kedge_session *session, const float *values, size_t bytes,
                          kedge_step_result *result);

/* Number of steps done, including those before kedge_resume.
 * Errors: none of its own. Threads: one. */
int kedge_steps_done(kedge_session *session, int64_t *steps);
/* Says that `steps` steps, each with an update, were done elsewhere, whose states were set by
 * kedge_set_state: schedules and the bias correction of Adam go on from there.
 * Unit: optimizer steps. Errors: KEDGE_WRONG_CALL (below 0). Threads: one. */
int kedge_set_steps_done(kedge_session *session, int64_t steps);

/* Changes an option from the next step on: --lr --min-lr --schedule --warmup --warmup-start --decay-steps
 * --weight-decay --betas --eps --dpo-beta or --steps, as kedge_open takes it. The states stay.
 * Errors: KEDGE_WRONG_CALL (another option,
 * or a value that it cannot have); nothing is changed then. Threads: one. */
int kedge_set_option(kedge_session *session, const char *name, const char *value);

/* Writes the checkpoint DIR/step-N, completely or not at all, and keeps the two newest. The compiled program
 * and other sessions can resume from it.
 * Errors: KEDGE_FAILED (the folder, the disk). Threads: one; two sessions do not
 * write into one folder. */
int kedge_checkpoint(kedge_session *session, const char *dir);
/* Continues from the newest complete checkpoint in DIR.
 * Errors: KEDGE_FAILED (no complete checkpoint, or one of another model). Threads: one. */
int kedge_resume(kedge_session *session, const char *dir);
/* Writes the trained model, in inference mode.
 * Errors: KEDGE_FAILED (the file, the disk); a file that was there stays then. Threads: one. */
int kedge_export_onnx(kedge_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#endif /* KEDGE_SESSION_H */
