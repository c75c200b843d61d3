// What a program wrote with --trace-values.
#pragma once
#include "runtime/format/Tensor.h"
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kedge::driver {

struct TracedTensor {
  rt::TensorDesc desc;
  const char *data = nullptr;
  bool isState = false;
  std::string name, readAs; ///< of a state; as `reads` call it
  int64_t step = 0;         ///< of a state: completed steps
  int64_t run = 0, launch = 0;
  std::string function, op, place;          ///< `place`: the module, " (backward)" behind it
  bool backward = false, intoState = false; ///< `intoState`: the new value of a state
  std::vector<std::string> reads;           ///< "state w", "input x", "launch 3 (onnx.Gemm at h.0)"
};

/// A mapped file of records, in order.
class Trace {
public:
  /// Throws kedge::Error where the file is torn.
  explicit Trace(const std::string &path);
  ~Trace();
  Trace(const Trace &) = delete;
  const std::vector<TracedTensor> &tensors() const { return list; }

private:
  void *mapped = nullptr;
  size_t size = 0;
  std::vector<TracedTensor> list;
};

/// Runs the program with these options and --trace-values FILE; its own output is shown when it fails.
void runTraced(const std::string &program, const std::vector<std::string> &options, const std::string &file);

} // namespace kedge::driver
