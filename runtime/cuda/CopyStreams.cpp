#include "runtime/cuda/CopyStreams.h"
#include <algorithm>

namespace kedge::rt::cuda {

CopyStreams::CopyStreams(Gpu &gpu, const Program &program) : gpu(gpu) {
  for (const auto &[name, source] : program.functions)
    for (const Launch &launch : source.launches)
      if (CUstream &made = streams[static_cast<size_t>(launch.stream)]; launch.stream != 0 && !made)
        made = makeStream(launch.stream);
  if (std::none_of(streams.begin(), streams.end(), [](CUstream made) { return made != nullptr; }))
    return;
  for (CUevent &event : joined)
    event = makeEvent();
  for (const auto &[name, source] : program.functions)
    addEvents(source);
}

CopyStreams::~CopyStreams() {
  for (const auto &[source, list] : events)
    for (CUevent event : list.made)
      if (event)
        gpu.driver().eventDestroy(event);
  for (CUevent event : joined)
    if (event)
      gpu.driver().eventDestroy(event);
  for (CUstream made : streams)
    if (made)
      gpu.driver().streamDestroy(made);
}

/// Collectives before what computes beside them: others wait for them. Updates after it: little waits for
/// these.
CUstream CopyStreams::makeStream(int number) {
  const Driver &driver = gpu.driver();
  CUstream made = nullptr;
  int least = 0, greatest = 0;
  if (isOfRanks(number) || number == abi::kSideStream)
    driver.check(driver.ctxGetStreamPriorityRange(&least, &greatest), "the GPU's priorities cannot be read");
  driver.check(driver.streamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING,
                                               number == abi::kSideStream ? least : greatest),
               "no stream for copies");
  return made;
}

CUevent CopyStreams::makeEvent() {
  CUevent event = nullptr;
  gpu.driver().check(gpu.driver().eventCreate(&event, CU_EVENT_DISABLE_TIMING), "no event for copies");
  return event;
}

void CopyStreams::addEvents(const Function &source) {
  Events &list = events[&source];
  for (size_t at = 0; at < source.launches.size(); ++at)
    if (const int event = source.launches[at].records; event >= 0) {
      const size_t count = std::max(list.made.size(), static_cast<size_t>(event) + 1);
      list.made.resize(count, nullptr);
      list.recorders.resize(count, -1);
      list.made[static_cast<size_t>(event)] = makeEvent();
      list.recorders[static_cast<size_t>(event)] = static_cast<int>(at);
    }
}

void CopyStreams::record(CUevent event, CUstream on) {
  gpu.driver().check(gpu.driver().eventRecord(event, on), "copies cannot be ordered");
}

void CopyStreams::wait(CUstream on, CUevent event) {
  gpu.driver().check(gpu.driver().streamWaitEvent(on, event, CU_EVENT_WAIT_DEFAULT),
                     "copies cannot be ordered");
}

void CopyStreams::begin(const Function &source, int begin, int end) {
  used.fill(false);
  current = nullptr;
  const auto leaves = [&](const Launch &launch) { return launch.stream != 0; };
  if (!std::any_of(source.launches.begin() + begin, source.launches.begin() + end, leaves))
    return;
  function = &source;
  current = &events.find(&source)->second;
  first = begin;
  record(joined[0], gpu.stream());
}

void CopyStreams::before(int at) {
  if (!current)
    return;
  const Launch &launch = function->launches[static_cast<size_t>(at)];
  const size_t number = static_cast<size_t>(launch.stream);
  if (number != 0 && !used[number]) {
    wait(stream(launch.stream), joined[0]);
    used[number] = true;
  }
  // What an earlier stretch recorded was done when this one began.
  for (int event : launch.waits)
    if (current->recorders[static_cast<size_t>(event)] >= first)
      wait(stream(launch.stream), current->made[static_cast<size_t>(event)]);
}

void CopyStreams::after(int at) {
  if (!current)
    return;
  const Launch &launch = function->launches[static_cast<size_t>(at)];
  if (launch.records >= 0)
    record(current->made[static_cast<size_t>(launch.records)], stream(launch.stream));
}

void CopyStreams::finish() {
  for (size_t number = 1; number < used.size(); ++number)
    if (used[number]) {
      record(joined[number], streams[number]);
      wait(gpu.stream(), joined[number]);
    }
}

} // namespace kedge::rt::cuda
