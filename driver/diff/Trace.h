// What programs write with --trace-values: of one rank, of several put together, of an ONNX model itself.
#pragma once
#include "runtime/format/Tensor.h"
#include "runtime/program/Mesh.h"
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kedge::driver {

/// Elements [whole, whole + count) of a tensor, at [here, here + count) of what a rank holds.
struct TracedRun {
  int64_t whole = 0, here = 0, count = 0;
};

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
  std::vector<int64_t> whole;               ///< of a state's part: the tensor's shape
  std::vector<TracedRun> runs;              ///< of a state's part: which elements of the tensor it holds
  bool isPart = false;
  bool isGuess = false; ///< a reading of blocks or of sums, which nothing but its numbers speaks for
  int64_t origin = 0;   ///< of several readings of what ranks hold, all with one number, one is the value
};

/// A mapped file of records, in order.
class Trace {
public:
  /// Throws kedge::Error where the file is torn.
  explicit Trace(const std::string &path);
  ~Trace();
  Trace(const Trace &) = delete;
  const std::vector<TracedTensor> &tensors() const { return list; }
  const rt::Mesh &mesh() const { return ranks; }

private:
  void add(const nlohmann::json &record, const char *data);

  void *mapped = nullptr;
  size_t size = 0;
  std::vector<TracedTensor> list;
  rt::Mesh ranks;
};

/// The words of a command, whose output is shown when it fails. Throws kedge::Error unless it ends with 0.
void runCommand(std::vector<std::string> words, const std::string &output);

std::string contentOf(const std::string &path);

/// How many ranks the program is for.
int64_t ranksOf(const std::string &program, const std::string &folder);

/// Runs the program with these options and --trace-values FILE; several ranks by `launcher`, as in "mpirun".
void runTraced(const std::string &program, int64_t ranks, const std::string &launcher,
               const std::vector<std::string> &options, const std::string &file);

/// The traces of a run of several ranks, read as that of one. A state is put together from its parts.
/// Launches do not say how their values are cut, so a value has several readings of one origin: what all
/// ranks hold, where that is alike, or blocks in a row, or a sum.
class GatheredTrace {
public:
  /// Which readings are of use: they are asked for by their keys, without data.
  using Wanted = std::function<bool(const TracedTensor &)>;

  /// Of the files that runTraced() names after `file`. Throws kedge::Error where ranks traced different
  /// values.
  GatheredTrace(const std::string &file, int64_t ranks);
  /// Of one rank all that it traced.
  std::vector<TracedTensor> tensors(const Wanted &wanted);
  int64_t ranks() const { return static_cast<int64_t>(traces.size()); }
  /// What tensors() left out: parts that make nothing wanted.
  int64_t leftOut() const { return without; }

private:
  std::vector<std::unique_ptr<Trace>> traces;
  std::deque<std::vector<char>> storage;
  int64_t without = 0;
};

/// The values that an ONNX model itself gives, computed by onnxruntime or by ONNX's reference evaluator.
struct Reference {
  std::string engine; ///< "onnxruntime 1.22.0"
  std::string trace;  ///< a file as --trace-values writes it
};

/// Runs `model` on the inputs of the first step that the program's `trace` holds, by a Python that has the
/// packages onnx and numpy. Files go to `folder`. Throws kedge::Error where there is none.
Reference runReference(const std::string &model, const std::string &trace, const std::string &folder);

} // namespace kedge::driver
