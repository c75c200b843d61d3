// Streams of launches: the compiler assigns them, each runtime runs them (program.md).
#pragma once

namespace kedge::abi {

/// Launches of one stream run one after the other. Running all launches one by one in list order respects the
/// order that streams and events demand.
enum Stream : int {
  kComputeStream = 0,
  kToDeviceStream = 1, ///< copies from host memory
  kToHostStream = 2,   ///< copies to it
  kRankStream = 3,     ///< collectives of ranks
  kTransferStream = 4, ///< between the stages of a pipeline
  kSideStream = 5,     ///< kernels that what follows them does not wait for; of least priority
};
constexpr int kStreams = 6;

/// Whether ranks communicate on it.
constexpr bool isOfRanks(int stream) { return stream == kRankStream || stream == kTransferStream; }

} // namespace kedge::abi
