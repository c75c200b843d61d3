// --deepspeed-config: what a DeepSpeed configuration says, in Kedge's options.
#pragma once
#include "driver/options/CompileOptions.h"
#include <memory>

namespace kedge::driver {

class DeepSpeedConfig {
public:
  /// `given`: the options of the command line, which the file's must not contradict. Throws kedge::Error that
  /// names the key, what was expected and what to do.
  DeepSpeedConfig(const std::string &path, const SavedArguments &given);

  /// Options that were not given, by the file's keys and DeepSpeed's defaults.
  const SavedArguments &arguments() const { return added; }
  /// Rows of a micro-batch that the file counts on.
  std::optional<int64_t> microBatch() const { return rows; }
  /// A line for each key: applied as what, or why it has no effect here.
  const std::string &text() const { return lines; }

private:
  SavedArguments added;
  std::optional<int64_t> rows;
  std::string lines;
};

} // namespace kedge::driver
