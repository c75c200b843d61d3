// The streams that copy between the arenas, and those of ranks, while the GPU computes; the events that order them.
#pragma once
#include "runtime/cuda/Gpu.h"
#include <array>
#include <map>

namespace kedge::rt::cuda {

/// A stretch of launches begins and ends on the GPU's stream alone: the others leave it when they are first used and come
/// back at the end, as recording a graph demands, too.
class CopyStreams {
public:
  /// Makes the streams and events that the program's launches name; none without copies.
  CopyStreams(Gpu &gpu, const Program &program);
  ~CopyStreams();
  CopyStreams(const CopyStreams &) = delete;
  CopyStreams &operator=(const CopyStreams &) = delete;

  CUstream stream(int number) const { return number == 0 ? gpu.stream() : streams[static_cast<size_t>(number)]; }

  /// Call before launches [first, end) of a function are put on their streams, for each of them, and behind them.
  void begin(const Function &function, int first, int end);
  void before(int launch);
  void after(int launch);
  void finish();

private:
  struct Events {
    std::vector<CUevent> made;  ///< by event of the function
    std::vector<int> recorders; ///< by event: the launch that records it
  };
  CUevent makeEvent();
  CUstream makeStream(int number);
  void addEvents(const Function &function);
  void record(CUevent event, CUstream on);
  void wait(CUstream on, CUevent event);

  Gpu &gpu;
  std::array<CUstream, kStreams> streams{};
  std::array<CUevent, kStreams> joined{}; ///< 0: the stretch's begin; else the end of that stream's part
  std::array<bool, kStreams> used{};
  std::map<const Function *, Events> events;
  const Function *function = nullptr;
  const Events *current = nullptr;
  int first = 0;
};

} // namespace kedge::rt::cuda
