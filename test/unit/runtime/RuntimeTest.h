// A scratch folder, npy and token files, and runs of kedge-tiny-program in it.
#pragma once
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kedge::test {

/// Where the tests' programs are: on the CPU in kedge-unit-runtime, on the GPU device in kedge-unit-cuda.
std::string tinyProgram();

struct RunResult {
  int code = 0; ///< 128 + signal when it was killed
  std::string out, err;
};

class RuntimeTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Runs the tiny program in the scratch folder. `environment`: NAME=VALUE entries in front.
  RunResult run(const std::string &arguments, const std::string &environment = "");
  RunResult runCommand(const std::string &command);
  /// Expects success and returns the log's lines.
  std::vector<nlohmann::json> train(const std::string &arguments, const std::string &log = "log.jsonl");
  /// Expects exit code 1 and a message that contains `part`.
  void expectError(const std::string &arguments, const std::string &part);

  std::string path(const std::string &name) const { return folder + "/" + name; }
  void write(const std::string &name, const std::string &content) const;
  std::string read(const std::string &name) const;
  std::vector<nlohmann::json> readLog(const std::string &name) const;

  template <typename T>
  void writeNpy(const std::string &name, const std::string &descr, const std::vector<int64_t> &shape,
                const std::vector<T> &values) const {
    write(name,
          npy(descr, shape, {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)}));
  }
  /// x.npy and y.npy for "line": `rows` rows made from a fixed formula; model.bin.
  void writeLineData(int64_t rows) const;
  static constexpr const char *kLineData = " --data x=x.npy --data labels=y.npy ";

private:
  static std::string npy(const std::string &descr, const std::vector<int64_t> &shape,
                         const std::string &data);
  std::string folder;
  std::string sessions; ///< of mpirun
};

/// Log lines without what depends on the clock.
std::vector<nlohmann::json> withoutTimes(std::vector<nlohmann::json> lines);

} // namespace kedge::test
