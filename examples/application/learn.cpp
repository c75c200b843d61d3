// The same in C++.
#include "taste.hpp"
#include <cstdio>

int main() try {
  const float features[4][4] = {{1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 1, 0, 0}};
  const float answers[4] = {1, 0, 0.5f, 1};
  taste::Session session({{"--lr", "0.02"}, {"--threads", "1"}});
  session.keepInput("features", &features[0][0], 4);
  session.keepInput("labels", answers, 4);
  const double first = session.step().loss;
  double last = first;
  for (int step = 1; step < 100; ++step)
    last = session.step().loss;
  std::printf("loss %g became %g\n", first, last);
} catch (const kedge::Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
