// Programs of the runtime's tests without kernels: a device that notes what each function is given, and runs
// nothing.
#pragma once
#include "runtime/exec/Executor.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <memory>

namespace kedge::test {

/// What a function was given before its launches.
struct Given {
  std::string function;
  std::map<std::string, std::string> inputs; ///< bytes
  std::map<std::string, double> scalars;
};

/// A program on a RecordingDevice.
class RecordedProgram {
public:
  /// `world`: of several ranks, this one, with its parts of what is cut.
  explicit RecordedProgram(const nlohmann::json &json, const rt::World &world = {});

  rt::Program program;
  rt::ProgramImage image;
  std::unique_ptr<rt::Executor> executor;

  /// Of all devices of this process, since it was taken last.
  static std::vector<Given> takeGiven();
  std::vector<double> values(const std::string &state) const;
};

} // namespace kedge::test
