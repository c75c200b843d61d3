// PTX as text -> kernels that PtxInterpreter runs.
#pragma once
#include "test/support/PtxFunctions.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::test {

struct PtxInstruction {
  enum class Kind : uint8_t {
    Compute,
    Pack,   ///< operands, from the low bits on, into one register
    Unpack, ///< the other way round
    Load,
    Store,
    Jump,
    JumpByTable,
    Barrier,
    Shuffle,
    Multiply, ///< mma.sync m16n8k16
    LoadMatrix,
    Copy, ///< cp.async: operands are addresses in shared and in global memory, bytes, and how many are given
    Commit,
    Wait,
    // Of Hopper: barriers on which copies arrive, the copy engine, products of warpgroups.
    MakeBarrier,
    Arrive, ///< operands: the barrier and, where they are expected, bytes
    TryWait,
    Bring, ///< cp.async.bulk.tensor: to where, the map, coordinates, the barrier
    FenceProxy,
    FenceMap,
    FenceProducts,
    Product, ///< wgmma.mma_async: left words, descriptor, whether it adds, signs, whether it is transposed
    CommitProducts,
    WaitForProducts,
    SyncWarp,
    KeepRegisters,
    Trap,
    Return,
    Nothing, ///< removed by who wants to see whether it is missed
  };
  Kind kind = Kind::Compute;
  PtxFunction compute = nullptr;
  int32_t predicate = -1; ///< register
  bool whenFalse = false, isShared = false, isSigned = false, isBrain = false, isTransposed = false;
  int32_t bytes = 0;                      ///< of an element
  char shuffle = 0;                       ///< b(fly), i(dx), u(p), d(own)
  std::array<int64_t, 3> offsets = {};    ///< of addresses
  std::vector<int32_t> results, operands; ///< registers; 0 is nobody's
  std::vector<int32_t> targets;           ///< instructions
  mutable int64_t times = 0;              ///< that threads came to it, of what a test may remove
  bool isRemoved = false;                 ///< of TryWait: finds each phase complete
  std::string text;
};

struct PtxKernel {
  std::string name;
  std::vector<PtxInstruction> code;
  std::vector<uint64_t> registers;       ///< as a thread begins: constants and addresses lie in some
  std::vector<int32_t> parameters;       ///< registers
  std::map<std::string, int32_t> byName; ///< registers; "%tid.x" and its like are set for each thread
  int64_t sharedBytes = 0, threads = 0;  ///< of a block; at most, by .maxntid
  int64_t blocks = 1;                    ///< that run at once, by .minnctapersm
  bool hasArrivals = false;              ///< barriers on which copies arrive
  bool waits = false;                    ///< for the kernels in front of it
};

/// Where shared memory begins, for a thread.
constexpr uint64_t kPtxShared = 0x10000;

class PtxProgram {
public:
  /// Throws kedge::Error that names the kernel and the instruction that it does not know.
  explicit PtxProgram(std::string_view ptx);
  PtxKernel &kernel(const std::string &name);
  std::map<std::string, PtxKernel> &all() { return kernels; }
  /// Whether a table of constants has these bytes.
  bool isInTable(uint64_t address, int64_t bytes) const;

private:
  void readTable(std::string_view line);
  void readKernel(std::string_view head, std::string_view body);

  std::map<std::string, PtxKernel> kernels;
  std::map<std::string, std::vector<uint64_t>> tables;
};

} // namespace kedge::test
