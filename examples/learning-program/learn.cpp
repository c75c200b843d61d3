// The same in C++: exceptions in place of codes, and the trained model as an ONNX file at the end.
//
//   c++ -std=c++17 learn.cpp -o learn $(PKG_CONFIG_PATH=. pkg-config --cflags --libs taste)
//   -Wl,-rpath,'$ORIGIN'
//   ./learn FOLDER trained.onnx < examples.txt
#include "taste.hpp"
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>

namespace {

constexpr size_t kRows = 4; // as the library was compiled
constexpr int kRounds = 10; // steps for each example, over the last four

/// The last examples of the user.
class Examples {
public:
  void add(const std::array<float, 4> &features, float answer) {
    for (size_t row = 0; row < kRows; ++row)
      if (count == 0 || row == count % kRows) {
        rows[row] = features;
        answers[row] = answer;
      }
    ++count;
  }
  void lendTo(kedge::Session &session) const {
    session.setInput("features", rows.data()->data(), kRows);
    session.setInput("labels", answers.data(), kRows);
  }

private:
  std::array<std::array<float, 4>, kRows> rows;
  std::array<float, kRows> answers;
  size_t count = 0;
};

int learn(const std::string &folder, const std::string &trained, const char *model) {
  kedge::Session session({{"--lr", "0.02"}, {"--model", model}});
  if (std::filesystem::exists(folder))
    session.resume(folder);
  Examples examples;
  double loss = 0;
  for (std::array<float, 4> now; std::cin >> now[0] >> now[1] >> now[2] >> now[3];) {
    float answer;
    std::cin >> answer;
    examples.add(now, answer);
    for (int round = 0; round < kRounds; ++round) {
      examples.lendTo(session);
      loss = session.step().loss;
    }
  }
  std::cout << "loss " << loss << " after " << session.stepsDone() << " steps\n";
  session.checkpoint(folder);
  session.exportOnnx(trained);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr << "usage: learn FOLDER TRAINED.onnx [MODEL] < EXAMPLES\n";
    return 1;
  }
  try {
    return learn(argv[1], argv[2], argc > 3 ? argv[3] : "taste.onnx");
  } catch (const kedge::Error &error) {
    std::cerr << "learn: " << error.what() << "\n";
    return 1;
  }
}
