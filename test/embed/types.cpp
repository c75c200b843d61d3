// A session of the model's own takes rows in the types of its inputs; others do not compile.
#include "perceptron.hpp"
#include <cstdio>
#include <vector>

int main() {
  perceptron::Session session({{"--threads", "1"}});
  const std::vector<ELEMENT> rows(8 * 10), labels(8 * 3);
  session.setInput("input", rows.data(), 8);
  session.setInput("labels", labels.data(), 8);
  std::printf("%s\n", session.step().step == 0 ? "one step" : "no step");
}
