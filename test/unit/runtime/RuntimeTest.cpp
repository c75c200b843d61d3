#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace kedge::test {

void RuntimeTest::SetUp() {
  std::string name = (std::filesystem::temp_directory_path() / "kedge-runtime-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  folder = name;
  // Jobs that share Open MPI's session folder make and remove it under each other.
  sessions = name + "-mpi";
  ASSERT_TRUE(std::filesystem::create_directory(sessions));
  ASSERT_EQ(setenv("OMPI_MCA_orte_tmpdir_base", sessions.c_str(), 1), 0);
}

void RuntimeTest::TearDown() {
  std::filesystem::remove_all(folder);
  std::error_code left; // a killed job may still write there
  std::filesystem::remove_all(sessions, left);
}

RunResult RuntimeTest::run(const std::string &arguments, const std::string &environment) {
  return runCommand(environment + " " + tinyProgram() + " " + arguments);
}

RunResult RuntimeTest::runCommand(const std::string &command) {
  const int status = std::system(("cd '" + folder + "' && " + command + " >stdout.txt 2>stderr.txt").c_str());
  RunResult result;
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = read("stdout.txt");
  result.err = read("stderr.txt");
  return result;
}

std::vector<nlohmann::json> RuntimeTest::train(const std::string &arguments, const std::string &log) {
  const RunResult result = run(arguments + " --threads 2 --log " + log);
  EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
  return readLog(log);
}

void RuntimeTest::expectError(const std::string &arguments, const std::string &part) {
  const RunResult result = run(arguments);
  EXPECT_EQ(result.code, 1) << arguments;
  EXPECT_NE(result.err.find("kedge: error: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << "expected '" << part << "' in: " << result.err;
}

void RuntimeTest::write(const std::string &name, const std::string &content) const {
  std::ofstream(path(name), std::ios::binary) << content;
}

std::string RuntimeTest::read(const std::string &name) const {
  std::ifstream file(path(name), std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<nlohmann::json> RuntimeTest::readLog(const std::string &name) const {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(read(name));
  for (std::string line; std::getline(stream, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string RuntimeTest::npy(const std::string &descr, const std::vector<int64_t> &shape,
                             const std::string &data) {
  std::string dims;
  for (int64_t extent : shape)
    dims += std::to_string(extent) + ",";
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + dims + "), }\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + data;
}

void RuntimeTest::writeLineData(int64_t rows) const {
  std::vector<float> x, y;
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < 3; ++k)
      x.push_back(static_cast<float>(std::sin(static_cast<double>(3 * i + k))));
    for (int o = 0; o < 2; ++o)
      y.push_back(static_cast<float>(std::cos(static_cast<double>(i + o))));
  }
  writeNpy("x.npy", "<f4", {rows, 3}, x);
  writeNpy("y.npy", "<f4", {rows, 2}, y);
  const std::vector<char> model = tiny::modelFile({0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f}, {0.0f, -0.5f});
  write("model.bin", {model.data(), model.size()});
}

std::vector<nlohmann::json> withoutTimes(std::vector<nlohmann::json> lines) {
  for (nlohmann::json &line : lines)
    for (const char *key : {"seconds", "tokens_per_second", "samples_per_second"})
      line.erase(key);
  return lines;
}

} // namespace kedge::test
