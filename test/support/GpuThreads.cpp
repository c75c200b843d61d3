#include "test/support/GpuThreads.h"
#include "lib/Support/Error.h"
#include "test/support/GpuMatrices.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <ucontext.h>
#include <vector>

namespace kedge::test {
namespace {

constexpr size_t kStack = 128 * 1024;
constexpr int64_t kWarp = 32;

enum class State { Ready, Barrier, Shuffle, Matrices, Done };

struct PendingCopy {
  char *to;
  const char *from;
  int32_t bytes, given;
  bool isThere = false;

  void land() {
    if (isThere)
      return;
    isThere = true;
    std::memcpy(to, from, given);
    std::memset(to + given, 0, bytes - given);
  }
};

/// Where a stack goes on. Only the compiler's own jumps write and read it: those of libc make a system call
/// each under a sanitizer, and switching contexts makes two.
using Place = void *[5];

/// A stack on which threads of one number run, block after block.
struct Stack {
  std::unique_ptr<char[]> bytes = std::make_unique<char[]>(kStack);
  Place place{};
  bool begun = false; ///< else it has to be entered
};

std::deque<Stack> &stacks() {
  static std::deque<Stack> kept;
  return kept;
}

struct Fiber {
  GpuThread self{};
  State state = State::Ready;
  int32_t value = 0, offset = 0, mode = 0;
  int32_t *words = nullptr;                     ///< of a meeting for matrices, whose kind is `mode`
  std::vector<std::vector<PendingCopy>> groups; ///< copies that are committed
  std::vector<PendingCopy> copies;              ///< those that are not yet

  bool hasCopies() const {
    return !copies.empty() ||
           std::any_of(groups.begin(), groups.end(), [](const auto &group) { return !group.empty(); });
  }
};

struct Scheduler {
  std::vector<Fiber> fibers;
  Place main{};
  const std::function<void(GpuThread *)> *body = nullptr;
};
/// Of the block that runs now: fibers find their way back through it.
Scheduler *current = nullptr;

#define KEDGE_JUMPS __attribute__((noinline, no_sanitize("address", "undefined")))

KEDGE_JUMPS void jump(Place &place) { __builtin_longjmp(place, 1); }

/// Leaves a thread's stack until the thread is resumed.
KEDGE_JUMPS void leave(Place &place) {
  if (__builtin_setjmp(place) == 0)
    jump(current->main);
}

void wait(GpuThread *thread, State state) {
  current->fibers[thread->number].state = state;
  leave(stacks()[thread->number].place);
}

void waitAtBarrier(GpuThread *thread) { wait(thread, State::Barrier); }

int32_t waitInShuffle(GpuThread *thread, int32_t value, int32_t offset, int32_t mode) {
  Fiber &fiber = current->fibers[thread->number];
  fiber.value = value;
  fiber.offset = offset;
  fiber.mode = mode;
  wait(thread, State::Shuffle);
  return fiber.value;
}

void waitForMatrices(GpuThread *thread, int32_t kind, int32_t *words) {
  Fiber &fiber = current->fibers[thread->number];
  fiber.mode = kind;
  fiber.words = words;
  wait(thread, State::Matrices);
}

/// What lay there goes at once: who reads too early finds garbage.
void beginCopy(GpuThread *thread, char *to, const char *from, int32_t bytes, int32_t given) {
  std::memset(to, 0xff, bytes);
  current->fibers[thread->number].copies.push_back({to, from, bytes, given});
}

void commitCopies(GpuThread *thread) {
  Fiber &fiber = current->fibers[thread->number];
  fiber.groups.push_back(std::move(fiber.copies));
  fiber.copies.clear();
}

void waitForCopies(GpuThread *thread, int32_t groups) {
  Fiber &fiber = current->fibers[thread->number];
  for (; fiber.groups.size() > static_cast<size_t>(groups); fiber.groups.erase(fiber.groups.begin()))
    for (PendingCopy &copy : fiber.groups.front())
      copy.land();
}

/// Subnormal numbers count as zero.
float powerOfTwo(GpuThread *, float x) { return x < -126 ? 0 : std::exp2(x); }
float reciprocal(GpuThread *, float x) {
  const float inverse = 1 / x;
  return std::abs(inverse) < 0x1p-126f ? std::copysign(0.0f, x) : inverse;
}

/// Thread after thread of this number, of one block after the other.
void runFibers(unsigned number) {
  for (;;) {
    GpuThread *self = &current->fibers[number].self;
    (*current->body)(self);
    wait(self, State::Done);
  }
}

KEDGE_JUMPS void enter(Stack &stack, size_t number) {
  stack.begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack.bytes.get();
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr; // left by a jump
  makecontext(&context, reinterpret_cast<void (*)()>(runFibers), 1, static_cast<unsigned>(number));
  setcontext(&context);
}

/// Lets a thread run until it waits or is done.
KEDGE_JUMPS void resume(Scheduler &scheduler, size_t number) {
  Stack &stack = stacks()[number];
  if (__builtin_setjmp(scheduler.main) != 0)
    return;
  if (stack.begun)
    jump(stack.place);
  enter(stack, number);
}

/// At the end of a block, stacks that are left in the middle of a thread, by an error, are to be entered
/// anew.
struct BlockEnd {
  const Scheduler &scheduler;
  ~BlockEnd() {
    for (size_t number = 0; number < scheduler.fibers.size(); ++number)
      stacks()[number].begun &= scheduler.fibers[number].state == State::Done;
  }
};

bool all(std::vector<Fiber> &fibers, size_t from, size_t to, State state) {
  auto isThere = [&](const Fiber &fiber) { return fiber.state == state; };
  return std::all_of(fibers.begin() + from, fibers.begin() + to, isThere);
}

int64_t partner(const Fiber &fiber, int64_t lane) {
  switch (fiber.mode) {
  case 0:
    return lane ^ fiber.offset;
  case 1:
    return lane - fiber.offset < 0 ? lane : lane - fiber.offset;
  case 2:
    return lane + fiber.offset >= kWarp ? lane : lane + fiber.offset;
  default:
    return fiber.offset % kWarp;
  }
}

/// A copy comes at any moment until it is waited for: who writes where one is on its way finds it over what
/// it wrote.
void landSome(std::vector<Fiber> &fibers, std::mt19937 &random) {
  const auto land = [&](std::vector<PendingCopy> &copies) {
    for (PendingCopy &copy : copies)
      if (random() % 4 == 0)
        copy.land();
  };
  for (Fiber &fiber : fibers) {
    std::for_each(fiber.groups.begin(), fiber.groups.end(), land);
    land(fiber.copies);
  }
}

void expectNoCopies(const std::vector<Fiber> &fibers) {
  for (const Fiber &fiber : fibers)
    if (fiber.hasCopies())
      fail("thread {} ends before its copies to shared memory are waited for", fiber.self.number);
}

/// All lanes of a warp have come: hands the values over.
void exchange(std::vector<Fiber> &fibers, size_t from, size_t to) {
  std::vector<int32_t> values;
  for (size_t at = from; at < to; ++at) {
    int64_t other = partner(fibers[at], static_cast<int64_t>(at - from));
    if (from + other >= to)
      fail("thread {} shuffles with lane {} of a warp of {} threads", at, other, to - from);
    values.push_back(fibers[from + other].value);
  }
  for (size_t at = from; at < to; ++at) {
    fibers[at].value = values[at - from];
    fibers[at].state = State::Ready;
  }
}

/// All lanes of a warp have come with their registers.
void workTogether(std::vector<Fiber> &fibers, size_t from, size_t to) {
  if (to - from != kWarp)
    fail("a warp of {} threads loads or multiplies matrices, expected {}", to - from, kWarp);
  std::array<int32_t *, kWarp> words;
  for (size_t at = from; at < to; ++at) {
    if (fibers[at].mode != fibers[from].mode)
      fail("threads of a warp load or multiply different matrices");
    words[at - from] = fibers[at].words;
    fibers[at].state = State::Ready;
  }
  runMatrices(static_cast<MatrixWork>(fibers[from].mode), words);
}

/// Lets those go on who have met; false when nobody has.
bool release(std::vector<Fiber> &fibers) {
  bool released = false;
  for (size_t from = 0; from < fibers.size(); from += kWarp) {
    size_t to = std::min(fibers.size(), from + kWarp);
    if (all(fibers, from, to, State::Shuffle)) {
      exchange(fibers, from, to);
      released = true;
    } else if (all(fibers, from, to, State::Matrices)) {
      workTogether(fibers, from, to);
      released = true;
    }
  }
  if (released || !all(fibers, 0, fibers.size(), State::Barrier))
    return released;
  for (Fiber &fiber : fibers)
    fiber.state = State::Ready;
  return true;
}

} // namespace

void GpuBlock::run(const GpuThread &pattern, bool meets, const std::function<void(GpuThread *)> &body) {
  const auto &size = pattern.blockSize;
  Scheduler scheduler;
  scheduler.body = &body;
  scheduler.fibers.resize(size[0] * size[1] * size[2]);
  for (size_t number = 0; number < scheduler.fibers.size(); ++number) {
    GpuThread &self = scheduler.fibers[number].self = pattern;
    int64_t place = static_cast<int64_t>(number);
    self.thread = {place % size[0], place / size[0] % size[1], place / size[0] / size[1]};
    self.number = place;
    self.barrier = waitAtBarrier;
    self.shuffle = waitInShuffle;
    self.matrices = waitForMatrices;
    self.copy = beginCopy;
    self.commitCopies = commitCopies;
    self.waitForCopies = waitForCopies;
    self.exp2 = powerOfTwo;
    self.reciprocal = reciprocal;
  }
  std::vector<size_t> order(scheduler.fibers.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  if (!meets) {
    for (size_t number : order)
      body(&scheduler.fibers[number].self);
    return;
  }
  current = &scheduler;
  while (stacks().size() < order.size())
    stacks().emplace_back();
  const BlockEnd end{scheduler};
  do {
    for (size_t number : order)
      if (scheduler.fibers[number].state == State::Ready)
        resume(scheduler, number);
    std::rotate(order.begin(), order.begin() + random() % order.size(), order.end());
    landSome(scheduler.fibers, random);
    if (all(scheduler.fibers, 0, order.size(), State::Done))
      return expectNoCopies(scheduler.fibers);
  } while (release(scheduler.fibers));
  fail("threads of a block wait for each other in different places");
}

void runGrid(const KernelCode &kernel, const std::array<int64_t, 3> &grid,
             const std::array<int64_t, 3> &block, char *const *arguments, std::mt19937 &random) {
  std::vector<int64_t> places(grid[0] * grid[1] * grid[2]);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<std::max_align_t> shared(kernel.sharedBytes / sizeof(std::max_align_t) + 1);
  GpuBlock threads(random);
  for (int64_t place : places) {
    std::fill_n(reinterpret_cast<char *>(shared.data()), kernel.sharedBytes, char(0xff));
    GpuThread pattern{};
    pattern.block = {place % grid[0], place / grid[0] % grid[1], place / grid[0] / grid[1]};
    pattern.blockSize = block;
    pattern.gridSize = grid;
    pattern.shared = reinterpret_cast<char *>(shared.data());
    try {
      threads.run(pattern, kernel.meets, [&](GpuThread *thread) {
        kernel.function(arguments, reinterpret_cast<int64_t>(thread), 0);
      });
    } catch (const Error &error) {
      fail("kernel {}: {}", kernel.name, error.what());
    }
  }
}

} // namespace kedge::test
