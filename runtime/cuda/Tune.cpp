// Fills the algorithm table: what kedge-bench tune runs on a GPU.
#include "runtime/cuda/Tune.h"
#include "runtime/cuda/library/CublasLt.h"
#include "runtime/io/AtomicFile.h"
#include <set>

namespace kedge::rt::cuda {
using namespace calls;

void tuneProgram(const Program &program, const std::string &path) {
  AlgorithmTable table;
  Gpu gpu(program.target.arch);
  CublasLt library(gpu, table);
  double first = 0, best = 0;
  int refused = 0;
  AlgorithmTable tuned;
  std::set<std::string> timed; ///< keys of calls
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches) {
      if (!isMatmul(launch.library))
        continue;
      const LibraryCall call{launch.library, launch.attrs, launch.inputs, launch.outputs};
      if (!timed.insert(library.keyOf(call)).second)
        continue;
      const CublasLt::Tuned entry = library.tune(call);
      refused += entry.refused;
      if (entry.algorithm.empty() || tuned.find(entry.key))
        continue;
      tuned.set(entry.key, entry.algorithm, entry.microseconds, entry.isPadded);
      first += entry.firstMicroseconds;
      best += entry.microseconds;
    }
  nlohmann::ordered_json file = {{"format", 1}, {"device", gpu.name()}, {"entries", tuned.json()}};
  AtomicFile out(path);
  out.write(file.dump(1) + "\n");
  out.commit();
  fmt::print(
      stderr,
      "{}: {} products tuned on '{}': {:.1f} us in all, {:.1f} us with the library's first choices{}\n", path,
      tuned.size(), gpu.name(), best, first,
      refused ? fmt::format("; {} proposals did not run", refused) : "");
}

} // namespace kedge::rt::cuda
