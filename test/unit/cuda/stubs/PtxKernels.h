// A program's generated kernels as PTX, the very text that ptxas gets, in the tests' interpreter: what only
// a GPU has, such as wgmma, tensor maps and its conversions, runs as well.
//   KEDGE_STUB_KERNELS=FILE.ptx   the output of `kedge compile --emit ptx`
#pragma once
#include <array>
#include <cstdint>
#include <cuda.h>
#include <span>
#include <string>
#include <vector>

namespace kedge::stub {

/// Whether the program's kernels are to be interpreted.
bool hasPtx();
/// Of a kernel; ends the process when the file lacks it.
int64_t operandsInPtx(const std::string &name);
int64_t sharedBytesInPtx(const std::string &name);
/// Whether it waits for the kernels in front of it itself.
bool waitsInPtx(const std::string &name);
/// The map in the interpreter's own form.
void encodeForPtx(CUtensorMap &map, uint64_t address, std::span<const cuuint64_t> sizes,
                  std::span<const cuuint64_t> strides, std::span<const cuuint32_t> box);
/// `memory`: all that the kernel may touch. Ends the process when the interpreter finds anything.
void runPtx(const std::string &name, std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
            const std::vector<char *> &arguments, const std::vector<std::span<char>> &memory);

} // namespace kedge::stub
