/* A program that goes on learning from its user. Each line of standard input is an example: four measurements, and what is
 * right for them. The program tells its guess, then learns from the answer. What it has learned lies in FOLDER, where it goes
 * on at its next start.
 *
 *   kedge compile taste.onnx --shape features=4x4 --loss mse --optimizer adam --emit lib -o taste
 *   cc learn.c -o learn $(PKG_CONFIG_PATH=. pkg-config --cflags --libs taste) -lm -Wl,-rpath,'$ORIGIN'
 *   ./learn FOLDER < examples.txt */
#include "taste.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS = 4, FEATURES = 4 }; /* as the library was compiled */
enum { ROUNDS = 10 };            /* steps for each example, over the last four */

static void check(int code, const kedge_session *session) {
  if (code == KEDGE_OK)
    return;
  fprintf(stderr, "learn: %s\n", kedge_error(session));
  exit(1);
}

static float guess(kedge_session *session, const float *features) {
  float value;
  check(kedge_set_input(session, "features", features, 1), session);
  check(kedge_predict(session, "guess", &value, sizeof value), session);
  return value;
}

int main(int argc, char **argv) {
  const kedge_option options[] = {{"--lr", "0.02"}, {"--model", argc > 2 ? argv[2] : "taste.onnx"}, {NULL, NULL}};
  float features[ROWS][FEATURES], answers[ROWS], now[FEATURES], answer, off = 0;
  kedge_session *session;
  struct stat found;
  int64_t steps;
  int examples = 0, code;
  if (argc < 2) {
    fprintf(stderr, "usage: learn FOLDER [MODEL] < EXAMPLES\n");
    return 1;
  }
  code = kedge_open(options, &session);
  check(code, session);
  if (stat(argv[1], &found) == 0)
    check(kedge_resume(session, argv[1]), session);
  while (scanf("%f %f %f %f %f", &now[0], &now[1], &now[2], &now[3], &answer) == 5) {
    off += fabsf(guess(session, now) - answer);
    /* The newest example takes the place of the oldest; the first one fills all. */
    for (int row = 0; row < ROWS; ++row)
      if (examples == 0 || row == examples % ROWS) {
        memcpy(features[row], now, sizeof now);
        answers[row] = answer;
      }
    ++examples;
    for (int round = 0; round < ROUNDS; ++round) {
      check(kedge_set_input(session, "features", features, ROWS), session);
      check(kedge_set_input(session, "labels", answers, ROWS), session);
      check(kedge_step(session, NULL), session);
    }
  }
  check(kedge_steps_done(session, &steps), session);
  printf("%d examples, off by %.3f on average; %lld steps so far\n", examples, (double)(off / (float)examples), (long long)steps);
  check(kedge_checkpoint(session, argv[1]), session);
  kedge_close(session);
  return 0;
}
