// A block of threads in the interpreter of PTX.
#pragma once
#include "test/support/PtxArrivals.h"
#include "test/support/PtxInterpreter.h"

namespace kedge::test {

class PtxBlock {
public:
  PtxBlock(PtxInterpreter &interpreter, const PtxLaunch &launch, const PtxKernel &kernel);
  /// One block after the other; `now` goes on.
  void run(const std::array<int64_t, 3> &place, PtxMoment &now);

private:
  enum class State { Ready, Barrier, Warp, Group, Arrival, Done };
  struct Copy {
    int64_t to = 0;
    const char *from = nullptr;
    int64_t bytes = 0, given = 0;
  };
  /// Of a warpgroup, as one of its threads sees it.
  struct Product {
    std::vector<int32_t> registers; ///< that the tensor cores read or write
    std::vector<int32_t> sums;
    std::vector<int64_t> cells; ///< of shared memory that the thread gives back; of one thread of a warp
  };
  /// A row of a box, or a part of one, on its way.
  struct Box {
    int64_t barrier = 0, bytes = 0;
    std::vector<std::pair<int64_t, std::array<char, 16>>> chunks;
  };
  struct Thread {
    uint64_t *registers = nullptr;
    size_t at = 0; ///< instruction
    State state = State::Ready;
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
    // Of Hopper.
    std::vector<Product> openProducts;
    std::vector<std::vector<Product>> productGroups;
    std::vector<char> changed; ///< registers, since the last wgmma.fence
    std::set<uint64_t> maps;   ///< that it may use
    int64_t kept = 0;          ///< registers, by setmaxnreg
  };

  void begin(const std::array<int64_t, 3> &place);
  void go(size_t number);
  bool step(Thread &thread, const PtxInstruction &instruction);
  void load(Thread &thread, const PtxInstruction &instruction);
  void store(Thread &thread, const PtxInstruction &instruction);
  void copy(Thread &thread, const PtxInstruction &instruction);
  void waitFor(Thread &thread, size_t groups);
  void end(Thread &thread);
  bool meetInWarps();
  bool meetInBlock();
  void meet(size_t from, size_t to, const PtxInstruction &instruction);
  void exchange(size_t from, size_t to, const PtxInstruction &instruction);
  void matrices(size_t from, size_t to, const PtxInstruction &instruction);
  /// Where an access goes; null where it may not.
  char *access(uint64_t address, int64_t bytes, bool isShared, bool writes,
               const PtxInstruction &instruction);
  char *global(uint64_t address, int64_t bytes, bool writes, const PtxInstruction &instruction);
  void noteGlobal(PtxInterpreter::Region &region, int64_t at, int64_t bytes, bool writes,
                  const PtxInstruction &instruction);
  /// Other bytes in place of those that another thread replaces.
  void estrange(uint64_t address, const PtxInstruction &instruction, uint64_t &value);
  void report(const PtxInstruction &instruction, const std::string &what);

  // PtxWarpgroups.cpp: Hopper's own instructions.
  bool hopper(Thread &thread, const PtxInstruction &instruction);
  void arriveOrWait(Thread &thread, const PtxInstruction &instruction);
  bool tryWait(Thread &thread, const PtxInstruction &instruction);
  void bring(Thread &thread, const PtxInstruction &instruction);
  bool land();
  void wake();
  bool meetInGroups();
  void multiply(size_t from, const PtxInstruction &instruction);
  void waitForProducts(Thread &thread, size_t groups);
  void noteChange(Thread &thread, const PtxInstruction &instruction);
  void checkRegisters(Thread &thread, const PtxInstruction &instruction);
  bool holdsProducts(const Thread &thread) const;
  void checkEnd();
  int64_t sharedPlace(uint64_t address) const { return static_cast<int64_t>(address - kPtxShared); }
  size_t warpOf(const Thread &thread) const { return (&thread - threads.data()) / 32; }
  void complain(const PtxInstruction &instruction, const char *wrong);

  PtxInterpreter &interpreter;
  const PtxLaunch &launch;
  const PtxKernel &kernel;
  PtxMoment *now = nullptr;
  std::vector<uint64_t> registers;
  std::vector<Thread> threads;
  std::vector<char> shared;
  PtxShadow shadow;
  PtxArrivals arrivals;
  std::vector<Box> boxes; ///< on their way
  std::vector<size_t> order;
};

} // namespace kedge::test
