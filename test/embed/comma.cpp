// A host whose decimal sign is a comma, and whose numbers are grouped, as German ones are. Its session must
// train and write what that of a plain host does.
//   comma FOLDER OUT: FOLDER has input.npy and labels.npy; LOCPATH names the folder of the locale `comma`
#include "perceptron.hpp"
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int64_t kRows = 8;

std::vector<float> firstRows(const std::string &path, size_t width) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  const float *values = reinterpret_cast<const float *>(bytes.data() + begin);
  return {values, values + kRows * width};
}

struct Trained {
  std::vector<double> losses;
  std::string wrong; ///< what a number that is none is answered with
};

Trained train(const std::string &folder, const std::string &out) {
  const std::vector<float> input = firstRows(folder + "/input.npy", 10);
  std::vector<float> labels = firstRows(folder + "/labels.npy", 4);
  Trained trained;
  const auto step = [&](kedge::Session &session) {
    session.setInput("input", input.data(), kRows);
    session.setInput("labels", labels.data(), kRows);
    trained.losses.push_back(session.step().loss);
  };
  kedge::Session session = perceptron::open({{"--lr", "2.5e-2"},
                                             {"--betas", "0.8,0.95"},
                                             {"--eps", "0.001"},
                                             {"--weight-decay", "0.125"},
                                             {"--threads", "1"}});
  for (int at = 0; at < 12; ++at)
    step(session);
  session.checkpoint(out + "/checkpoints");
  session.exportOnnx(out + "/trained.onnx");
  kedge::Session resumed = perceptron::open({{"--threads", "1"}});
  resumed.resume(out + "/checkpoints");
  step(resumed);
  try {
    perceptron::open({{"--lr", "0,5"}});
  } catch (const kedge::Error &error) {
    trained.wrong = error.what();
  }
  return trained;
}

} // namespace

int main(int, char **argv) {
  const std::string folder = argv[1], out = argv[2];
  const Trained plain = train(folder, out + "/plain");
  std::locale::global(std::locale("comma")); // C's, too
  std::ostringstream grouped;
  grouped << 1234567;
  std::printf("half is %.1f, a million %s, read back %g\n", 0.5, grouped.str().c_str(),
              std::strtod("0,25", nullptr));
  const Trained comma = train(folder, out + "/comma");
  std::printf("losses %s\n", plain.losses == comma.losses ? "agree" : "DIFFER");
  std::printf("errors %s: %s\n", plain.wrong == comma.wrong ? "agree" : "DIFFER", comma.wrong.c_str());
  return 0;
}
