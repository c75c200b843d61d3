// A third target, as small as one can be: a device with memory of its own, which the host reaches by copies
// alone, that runs one launch after the other on a thread beside the host's.
// docs/extending/your-own-target.md explains it.
#include "runtime/calls/LibraryKernel.h"
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Device.h"
#include "runtime/io/Error.h"
#include "runtime/train/LinkedProgram.h"
#include <cstring>
#include <future>

using namespace kedge;

namespace {

/// Bytes at a multiple of 64, as arena.align asks.
class DeviceMemory {
public:
  explicit DeviceMemory(uint64_t bytes)
      : memory(static_cast<char *>(std::aligned_alloc(64, (bytes + 64) / 64 * 64)), std::free) {
    if (!memory)
      rt::fail("the tiny device has no {} bytes", bytes);
  }
  char *at(uint64_t offset) const { return memory.get() + offset; }

private:
  std::unique_ptr<char, decltype(&std::free)> memory;
};

class TinyDevice final : public rt::Device {
public:
  TinyDevice(const rt::Program &program, const rt::ProgramImage &image)
      : program(program), arena(program.arenaBytes), workspace(prepare(image)) {}
  ~TinyDevice() override {
    if (running.valid())
      running.wait();
  }

  // The host's side: each call waits for what runs.
  const char *read(uint64_t offset, uint64_t bytes) override {
    finish();
    answer.assign(arena.at(offset), arena.at(offset) + bytes);
    return answer.data();
  }
  char *beginWrite(uint64_t offset, uint64_t bytes) override {
    written = offset;
    incoming.resize(bytes);
    return incoming.data();
  }
  void endWrite() override {
    finish();
    std::memcpy(arena.at(written), incoming.data(), incoming.size());
  }
  void fill(uint64_t offset, uint64_t bytes, unsigned char value) override {
    finish();
    std::memset(arena.at(offset), value, bytes);
  }

  // What a function reads: the host writes it while the one before may still run.
  char *input(const rt::Function &function, const rt::ArenaSlot &place) override {
    return inputs[&function][place.offset].data();
  }
  char *scalar(const rt::ScalarSlot &slot) override { return scalars[slot.offset].data(); }
  void begin(const rt::Function &function) override {
    finish();
    for (const auto &[offset, bytes] : inputs[&function])
      std::memcpy(arena.at(offset), bytes.data(), bytes.size());
    for (const auto &[offset, bytes] : scalars)
      std::memcpy(arena.at(offset), bytes.data(), bytes.size());
  }

  bool isAsynchronous() const override { return true; }
  void run(const rt::Function &function, int first, int end, rt::LaunchTimer *timer) override {
    finish();
    running = std::async(std::launch::async, [this, &function, first, end, timer] {
      for (int i = first; i < end; ++i) {
        const int64_t start = rt::steadyNanoseconds();
        launch(ready[&function][static_cast<size_t>(i)], function.launches[static_cast<size_t>(i)]);
        if (timer)
          timer->record(function, i, start, rt::steadyNanoseconds());
      }
    });
  }

private:
  struct Ready {
    KedgeKernel kernel = nullptr;
    std::unique_ptr<rt::calls::LibraryKernel> library;
  };

  /// All that a step needs, so that none allocates or fails. Returns the bytes of the largest workspace: that
  /// of one thread may be another than the plan's.
  uint64_t prepare(const rt::ProgramImage &image) {
    uint64_t largest = 0;
    for (const rt::ScalarSlot &slot : program.scalars)
      scalars[slot.offset].resize(rt::dtypeSize(slot.type));
    for (const auto &[name, function] : program.functions) {
      for (const rt::ArenaSlot &place : function.inputs)
        inputs[&function][place.offset].resize(program.input(place.name)->desc.bytes());
      for (const rt::Launch &source : function.launches) {
        Ready &entry = ready[&function].emplace_back();
        if (!source.library.empty()) {
          entry.library = rt::calls::makeKernel({source.library, source.attrs, source.inputs, source.outputs},
                                                /*threads=*/1);
          largest = std::max<uint64_t>(largest, entry.library->workspaceBytes());
        } else if (entry.kernel = image.kernel(source.kernel); !entry.kernel) {
          rt::fail("it has no kernel '{}': the tiny device takes programs for one kind of processor",
                   source.kernel);
        }
      }
    }
    return largest;
  }

  void launch(const Ready &entry, const rt::Launch &source) {
    std::vector<char *> args;
    for (const uint64_t offset : source.args)
      args.push_back(arena.at(offset));
    if (entry.library) {
      const std::vector<const void *> from(args.begin(), args.begin() + static_cast<ptrdiff_t>(source.reads));
      const std::vector<void *> to(args.begin() + static_cast<ptrdiff_t>(source.reads), args.end());
      return entry.library->run(from.data(), to.data(), workspace.at(0));
    }
    // The last slice first: no order of them means anything.
    for (int64_t block = (source.iterations - 1) / source.grain; source.iterations > 0 && block >= 0; --block)
      entry.kernel(args.data(), block * source.grain,
                   std::min(source.iterations, (block + 1) * source.grain));
  }

  /// What went wrong in a launch is thrown here, by the next call of the host.
  void finish() {
    if (running.valid())
      running.get();
  }

  const rt::Program &program;
  DeviceMemory arena;
  std::map<const rt::Function *, std::vector<Ready>> ready;
  std::map<const rt::Function *, std::map<uint64_t, std::vector<char>>> inputs;
  std::map<uint64_t, std::vector<char>> scalars;
  DeviceMemory workspace;
  std::vector<char> answer, incoming;
  uint64_t written = 0;
  std::future<void> running;
};

std::unique_ptr<rt::Device> makeTinyDevice(const rt::Program &program, const rt::ProgramImage &image, int,
                                           rt::Communicator *communicator) {
  if (communicator)
    rt::fail("the tiny device is one rank: several are not available yet");
  if (program.target.kind != "cpu" || !program.target.arch.empty())
    rt::fail("the program '{}' is for {}, and the tiny device runs kernels of processors", program.name,
             program.target.kind);
  return std::make_unique<TinyDevice>(program, image);
}

} // namespace

int main(int argc, char **argv) { return rt::linkedMain(argc, argv, makeTinyDevice); }
