// The streams that copy between the arenas and run collectives while the GPU computes, and the events that
// order them.
#pragma once
#include "runtime/cuda/driver/Gpu.h"
#include <array>
#include <map>

namespace kedge::rt::cuda {

/// A sequence of launches begins and ends on the GPU's main stream. Other streams fork from
/// it when they are first used and join it at the end, as the recording of a graph requires.
class CopyStreams {
public:
  /// Creates the streams and events that the program's launches use; none if there are no copies.
  CopyStreams(Gpu &gpu, const Program &program);
  ~CopyStreams();
  CopyStreams(const CopyStreams &) = delete;
  CopyStreams &operator=(const CopyStreams &) = delete;

  CUstream stream(int number) const {
    return number == 0 ? gpu.stream() : streams[static_cast<size_t>(number)];
  }

  /// Call before launches [first, end) of a function are enqueued, for each of them, and after them.
  void begin(const Function &function, int first, int end);
  void before(int launch);
  void after(int launch);
  void finish();

private:
  struct Events {
    std::vector<CUevent> made;  ///< by number of the event in the function
    std::vector<int> recorders; ///< for each event, the launch that records it
  };
  CUevent makeEvent();
  CUstream makeStream(int number);
  void addEvents(const Function &function);
  void record(CUevent event, CUstream on);
  void wait(CUstream on, CUevent event);

  Gpu &gpu;
  std::array<CUstream, kStreams> streams{};
  std::array<CUevent, kStreams>
      joined{}; ///< 0: the start of the sequence; else the end of that stream's part
  std::array<bool, kStreams> used{};
  std::map<const Function *, Events> events;
  const Function *function = nullptr;
  const Events *current = nullptr;
  int first = 0;
};

} // namespace kedge::rt::cuda
