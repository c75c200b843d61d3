/* Learns four answers and says how the loss went. */
#include "taste.h"
#include <stdio.h>

static int fails(const kedge_session *session) {
  fprintf(stderr, "%s\n", kedge_error(session));
  return 1;
}

int main(void) {
  static const float features[4][4] = {{1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 1, 0, 0}};
  static const float answers[4] = {1, 0, 0.5f, 1};
  const kedge_option options[] = {{"--lr", "0.02"}, {"--threads", "1"}, {NULL, NULL}};
  kedge_step_result first = {0}, last = {0};
  kedge_session *session;
  if (kedge_open(options, &session) != KEDGE_OK || kedge_keep_input(session, "features", features, 4) != KEDGE_OK ||
      kedge_keep_input(session, "labels", answers, 4) != KEDGE_OK || kedge_step(session, &first) != KEDGE_OK)
    return fails(session);
  for (int step = 1; step < 100; ++step)
    if (kedge_step(session, &last) != KEDGE_OK)
      return fails(session);
  printf("loss %g became %g\n", first.loss, last.loss);
  kedge_close(session);
  return 0;
}
