#include "passes/Memory/StreamClocks.h"

namespace kedge::memory {

void StreamClocks::merge(Clock &into, const Clock &from) {
  if (into.size() < from.size())
    into.resize(from.size(), -1);
  for (size_t stream = 0; stream < from.size(); ++stream)
    into[stream] = std::max(into[stream], from[stream]);
}

void StreamClocks::add(int64_t stream, llvm::ArrayRef<int64_t> after) {
  if (static_cast<int64_t>(last.size()) <= stream)
    last.resize(stream + 1, -1);
  streams.push_back(stream);
  done.emplace_back();
  if (last[stream] >= 0)
    wait(last[stream]);
  last[stream] = static_cast<int64_t>(streams.size()) - 1;
  for (int64_t launch : after)
    wait(launch);
}

void StreamClocks::wait(int64_t launch) {
  Clock reached = done[launch];
  if (static_cast<int64_t>(reached.size()) <= streams[launch])
    reached.resize(streams[launch] + 1, -1);
  reached[streams[launch]] = launch;
  merge(done.back(), reached);
}

bool StreamClocks::precedes(int64_t first, int64_t second) const {
  const Clock &clock = done[second];
  int64_t stream = streams[first];
  return stream < static_cast<int64_t>(clock.size()) && clock[stream] >= first;
}

} // namespace kedge::memory
