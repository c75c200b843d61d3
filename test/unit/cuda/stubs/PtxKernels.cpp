#include "test/unit/cuda/stubs/PtxKernels.h"
#include "test/support/PtxInterpreter.h"
#include "test/unit/cuda/stubs/SimulatedKernels.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace kedge::stub {
namespace {

using test::PtxTensorMap;
static_assert(sizeof(PtxTensorMap) <= sizeof(CUtensorMap));

const char *file() {
  const char *path = std::getenv("KEDGE_STUB_KERNELS");
  return path && std::string_view(path).ends_with(".ptx") ? path : nullptr;
}

test::PtxProgram &program() {
  static test::PtxProgram read = [] {
    std::stringstream text;
    text << std::ifstream(file()).rdbuf();
    return test::PtxProgram(text.str());
  }();
  return read;
}

test::PtxKernel &kernelNamed(const std::string &name) {
  try {
    return program().kernel(name);
  } catch (const std::exception &error) {
    stop(error.what());
  }
}

std::vector<PtxTensorMap> &encoded() {
  static std::vector<PtxTensorMap> all;
  return all;
}

bool isMap(const char *at, const std::vector<std::span<char>> &memory) {
  const auto holds = [&](std::span<char> part) {
    return at >= part.data() && at + sizeof(PtxTensorMap) <= part.data() + part.size();
  };
  const auto isAt = [&](const PtxTensorMap &map) {
    return std::memcmp(at, static_cast<const void *>(&map), sizeof map) == 0;
  };
  return std::any_of(memory.begin(), memory.end(), holds) &&
         std::any_of(encoded().begin(), encoded().end(), isAt);
}

} // namespace

bool hasPtx() { return file() != nullptr; }

int64_t operandsInPtx(const std::string &name) {
  return static_cast<int64_t>(kernelNamed(name).parameters.size());
}
int64_t sharedBytesInPtx(const std::string &name) { return kernelNamed(name).sharedBytes; }
bool waitsInPtx(const std::string &name) { return kernelNamed(name).waits; }

void encodeForPtx(CUtensorMap &map, uint64_t address, std::span<const cuuint64_t> sizes,
                  std::span<const cuuint64_t> strides, std::span<const cuuint32_t> box) {
  PtxTensorMap &made = encoded().emplace_back();
  std::memset(static_cast<void *>(&made), 0, sizeof made);
  made.address = address, made.rank = sizes.size();
  std::copy(sizes.begin(), sizes.end(), made.sizes);
  std::copy(strides.begin(), strides.end(), made.strides);
  std::copy(box.begin(), box.end(), made.box);
  std::memcpy(&map, static_cast<const void *>(&made), sizeof made);
}

void runPtx(const std::string &name, std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
            const std::vector<char *> &arguments, const std::vector<std::span<char>> &memory) {
  test::PtxLaunch launch{name, grid, block, arguments, memory};
  // Where a result takes an operand's place is not known here: it may be anywhere.
  launch.memory.insert(launch.memory.end(), memory.begin(), memory.end());
  for (char *argument : arguments)
    if (isMap(argument, memory))
      launch.mapsInMemory.push_back(reinterpret_cast<uint64_t>(argument));
  test::PtxInterpreter interpreter(program(), 1);
  try {
    interpreter.run(launch);
  } catch (const std::exception &error) {
    stop(error.what());
  }
  if (!interpreter.findings().empty())
    stop("in the interpreter of PTX: " + interpreter.findings().begin()->first);
}

} // namespace kedge::stub
