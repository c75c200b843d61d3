// A token file in one of the forms that programs read, written as the tokens come.
#pragma once
#include "runtime/io/AtomicFile.h"
#include <cstdint>
#include <vector>

namespace kedge::driver {

class TokenOutput {
public:
  /// uint16 where the vocabulary allows; a file that is not `.npy` has no header then, else llm.c's.
  TokenOutput(const std::string &path, uint32_t vocabulary);
  void write(const std::vector<uint32_t> &tokens);
  void commit();

  uint64_t tokens() const { return count; }
  uint32_t largest() const { return most; }
  std::string form() const;

private:
  std::string header() const;

  std::string path;
  bool npy, wide; ///< with NumPy's header, uint32
  rt::AtomicFile file;
  uint64_t count = 0;
  uint32_t most = 0;
  size_t headerBytes = 0;
};

} // namespace kedge::driver
