// What programs write with --trace-values: of one rank, of several put together, of an ONNX model itself.
#pragma once
#include "lib/Support/TemporaryFolder.h"
#include "runtime/format/Tensor.h"
#include "runtime/program/Mesh.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kedge::driver {

/// Elements [whole, whole + count) of a tensor, at [here, here + count) of what a rank holds.
struct TracedRun {
  int64_t whole = 0, here = 0, count = 0;
};

/// How a value is cut over the ranks along `tensor`: each section by itself, rank i has room for block i.
struct TracedCut {
  size_t dim = 0;
  std::vector<int64_t> sections, rooms; ///< without rooms, all blocks of a section are equal
};

struct TracedTensor {
  rt::TensorDesc desc;
  const char *data = nullptr;
  bool isState = false;
  std::string name, readAs; ///< of a state; as `reads` call it
  int64_t step = 0;         ///< of a state: completed steps
  int64_t run = 0, launch = 0;
  std::string function, op, place; ///< `place`: the module, " (backward)" behind it
  std::string value;               ///< the name that the value has in all programs of the model; empty: none
  int64_t micro = 0;               ///< the micro-batch that it is of
  std::optional<TracedCut> cut;
  bool isSummand = false;                   ///< the value is the sum over the ranks along `tensor`
  bool backward = false, intoState = false; ///< `intoState`: the new value of a state
  std::vector<std::string> reads;           ///< "state w", "input x", "launch 3 (onnx.Gemm at h.0)"
  std::vector<int64_t> whole;               ///< of a state's part: the tensor's shape
  std::vector<TracedRun> runs;              ///< of a state's part: which elements of the tensor it holds
  bool isPart = false;
  int64_t origin = 0; ///< of several readings of what ranks hold, all with one number, one is the value
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

std::string contentOf(const std::string &path);

/// How many ranks the program is for.
int64_t ranksOf(const std::string &program, const TemporaryFolder &folder);

/// Runs the program with these options and --trace-values FILE; several ranks by `launcher`, as in "mpirun".
void runTraced(const std::string &program, int64_t ranks, const std::string &launcher,
               const std::vector<std::string> &options, const TemporaryFolder &folder,
               const std::string &file);

/// The values that an ONNX model itself gives, computed by onnxruntime or by ONNX's reference evaluator.
struct Reference {
  std::string engine; ///< "onnxruntime 1.22.0"
  std::string trace;  ///< a file as --trace-values writes it
};

/// Runs `model` on the inputs of the first step that the program's `trace` holds, by a Python that has the
/// packages onnx and numpy. Files go to `folder`. Throws kedge::Error where there is none.
Reference runReference(const std::string &model, const std::string &trace, const TemporaryFolder &folder);

} // namespace kedge::driver
