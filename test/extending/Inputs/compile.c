/* What an application asks the compiler, answered in this process: compile MODEL. Writes the answers to files. */
#include "kedge/compiler.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kedge_option training[] = {{"--shape", "input=8x10"}, {"--loss", "mse"}, {NULL, NULL}};

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
    exit(1);
}

static void print_error(void *self, const kedge_message *message) {
  (void)self;
  if (message->severity == KEDGE_ERROR)
    printf("error: %s\n", message->text);
}

static void cancel(void *self, const char *what, double share) {
  (void)what;
  (void)share;
  kedge_compiler_cancel(self);
}

typedef struct Thread {
  const char *model;
  pthread_t id;
  void *bytes;
  size_t size;
} Thread;

static void *compile_again(void *self) {
  Thread *thread = self;
  kedge_compiler *compiler = NULL;
  const void *bytes = NULL;
  if (kedge_compiler_create(KEDGE_COMPILER_API, &compiler) != KEDGE_OK)
    return NULL;
  for (int time = 0; time < 3; ++time)
    if (kedge_compiler_compile_to_memory(compiler, thread->model, training, &bytes, &thread->size) != KEDGE_OK)
      printf("%s\n", kedge_compiler_error(compiler));
  thread->bytes = malloc(thread->size);
  memcpy(thread->bytes, bytes, thread->size);
  kedge_compiler_destroy(compiler);
  return NULL;
}

static int compile_on_two_threads(const char *model, const void *bytes, size_t size) {
  Thread threads[2] = {{0}, {0}};
  int same = 1;
  for (int k = 0; k < 2; ++k) {
    threads[k].model = model;
    pthread_create(&threads[k].id, NULL, compile_again, &threads[k]);
  }
  for (int k = 0; k < 2; ++k) {
    pthread_join(threads[k].id, NULL);
    same = same && threads[k].size == size && memcmp(threads[k].bytes, bytes, size) == 0;
    free(threads[k].bytes);
  }
  return same;
}

static void mistakes(kedge_compiler *compiler, const char *model) {
  const kedge_option word[] = {{"--precision", "fp33"}, {NULL, NULL}};
  const kedge_option name[] = {{"precision", "bf16"}, {NULL, NULL}};
  const char *json;
  kedge_compiler_on_message(compiler, print_error, NULL);
  kedge_compiler_plan(compiler, model, word, &json);
  kedge_compiler_plan(compiler, model, name, &json);
  kedge_compiler_plan(compiler, NULL, training, &json);
  kedge_compiler_compile(compiler, "none.onnx", training, "none");
  kedge_compiler_on_message(compiler, NULL, NULL);
}

static void budgets(kedge_compiler *compiler, const char *model) {
  const kedge_option little[] = {
      {"--shape", "input=8x10"}, {"--loss", "mse"}, {"--memory-budget", "100"}, {NULL, NULL}};
  const kedge_option searched[] = {{"--shape", "input=8x10"}, {"--loss", "mse"},           {"--max-batch", "input"},
                                   {"--memory-budget", "1MB"}, {NULL, NULL}};
  const char *json;
  printf("does not fit: %d\n", kedge_compiler_plan(compiler, model, little, &json));
  printf("%s\n", kedge_compiler_error(compiler));
  kedge_compiler_on_progress(compiler, cancel, compiler);
  printf("cancelled: %d\n", kedge_compiler_plan(compiler, model, searched, &json));
  kedge_compiler_on_progress(compiler, NULL, NULL);
  printf("after it: %d\n", kedge_compiler_plan(compiler, model, searched, &json));
}

int main(int count, char **words) {
  const char *model = words[1], *json;
  const void *bytes;
  size_t size;
  kedge_compiler *compiler;
  if (count < 2 || kedge_compiler_create(KEDGE_COMPILER_API, &compiler) != KEDGE_OK)
    return 1;
  printf("version %s\n", kedge_compiler_version());
  kedge_compiler *other;
  printf("another interface: %d\n", kedge_compiler_create(KEDGE_COMPILER_API + 100, &other));
  const int lint = kedge_compiler_lint(compiler, model, NULL, &json);
  write_file("library-lint.json", json, strlen(json));
  const int plan = kedge_compiler_plan(compiler, model, training, &json);
  write_file("library-plan.json", json, strlen(json));
  const int compile = kedge_compiler_compile(compiler, model, training, "library/program");
  const int memory = kedge_compiler_compile_to_memory(compiler, model, training, &bytes, &size);
  printf("lint %d, plan %d, compile %d, to memory %d\n", lint, plan, compile, memory);
  printf(compile_on_two_threads(model, bytes, size) ? "the same bytes from two threads\n" : "bytes differ\n");
  mistakes(compiler, model);
  budgets(compiler, model);
  kedge_compiler_destroy(compiler);
  return 0;
}
