#include "runtime/cuda/LaunchTimes.h"
#include <chrono>

namespace kedge::rt::cuda {

LaunchTimes::~LaunchTimes() {
  for (CUevent event : events)
    gpu.driver().eventDestroy(event);
}

void LaunchTimes::mark() {
  const Driver &driver = gpu.driver();
  if (used == 0)
    started = std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::steady_clock::now().time_since_epoch())
                  .count();
  if (used == events.size()) {
    CUevent event = nullptr;
    driver.check(driver.eventCreate(&event, CU_EVENT_DEFAULT), "no event for --profile");
    events.push_back(event);
  }
  driver.check(driver.eventRecord(events[used++], gpu.stream()), "no event for --profile");
}

void LaunchTimes::report(const Function &function, int first, LaunchTimer &timer) {
  const Driver &driver = gpu.driver();
  gpu.synchronize();
  int64_t begin = started;
  for (size_t i = 0; i + 1 < used; ++i) {
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, events[0], events[i + 1]), "no times for --profile");
    const int64_t end = started + static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    timer.record(function, first + static_cast<int>(i), begin, end);
    begin = end;
  }
  used = 0;
}

} // namespace kedge::rt::cuda
