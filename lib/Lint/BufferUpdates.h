// Buffers that forward changes, by the BUFFER_MUTATION lines of the graph signature.
#pragma once
#include "lib/Lint/Noise.h"
#include "lib/Lint/Uses.h"

namespace kedge::lint {

/// The file still computes what forward leaves in a buffer.
struct BufferUpdate {
  std::string
      buffer; // initializer; "" where the file has none, since nothing reads what the buffer held before
  std::string target; // PyTorch's name of the buffer
  size_t node = 0;    // makes `value`
  std::string value;  // what the buffer holds after forward
  /// Follows from what buffers held before: PyTorch lets no gradient through such a value, and evaluation
  /// reads the buffer.
  bool followsBuffers = false;
};

/// The file reads a buffer, but no longer computes what forward leaves in it.
struct LostUpdate {
  std::string buffer, target, reason;
};

struct BufferUpdates {
  std::vector<BufferUpdate> kept;
  std::vector<LostUpdate> lost;
};

/// Running statistics of normalizations, which their operator updates, are left out.
BufferUpdates findBufferUpdates(const model::Graph &);

/// For switchOff(): evaluation reads a buffer as it is.
std::vector<NoiseSwitch> switchesOf(const BufferUpdates &);

/// Each value goes through an operator that makes it the next value of its buffer; `isBuffer` says what is
/// one still.
void updateBuffers(model::Graph &, const BufferUpdates &,
                   const std::function<bool(const std::string &)> &isBuffer);

} // namespace kedge::lint
