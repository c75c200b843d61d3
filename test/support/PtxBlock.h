// A block of threads in the interpreter of PTX.
#pragma once
#include "test/support/PtxInterpreter.h"

namespace kedge::test {

class PtxBlock {
public:
  PtxBlock(PtxInterpreter &interpreter, const PtxLaunch &launch, const PtxKernel &kernel);
  /// One block after the other; `now` goes on.
  void run(const std::array<int64_t, 3> &place, PtxMoment &now);

private:
  enum class State { Ready, Barrier, Warp, Done };
  struct Copy {
    int64_t to = 0;
    const char *from = nullptr;
    int64_t bytes = 0, given = 0;
  };
  struct Thread {
    uint64_t *registers = nullptr;
    size_t at = 0; ///< instruction
    State state = State::Ready;
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
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

  PtxInterpreter &interpreter;
  const PtxLaunch &launch;
  const PtxKernel &kernel;
  PtxMoment *now = nullptr;
  std::vector<uint64_t> registers;
  std::vector<Thread> threads;
  std::vector<char> shared;
  PtxShadow shadow;
  std::vector<size_t> order;
};

} // namespace kedge::test
