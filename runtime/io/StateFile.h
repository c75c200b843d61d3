// A file that holds states in place of memory while a program runs.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace kedge::rt {

/// Has no name in its directory once it is made: nobody else opens it, and it ends with the process, however
/// that ends. Its bytes are reserved from the start and zero. Reads and writes go past the system's cache
/// where the file system allows it. Several threads may use it at once.
class StateFile {
public:
  /// What is read and written in one piece: offsets, sizes and addresses are multiples of it.
  static constexpr uint64_t kBlock = 4096;

  /// `stem` starts its name for as long as it has one. Throws rt::RuntimeError if the directory cannot hold
  /// it.
  StateFile(const std::string &directory, const std::string &stem, uint64_t bytes);
  ~StateFile();
  StateFile(const StateFile &) = delete;
  StateFile &operator=(const StateFile &) = delete;

  /// Throw rt::RuntimeError that names the file. Allocate nothing otherwise.
  void read(uint64_t offset, char *to, uint64_t bytes) const;
  void write(uint64_t offset, const char *from, uint64_t bytes) const;

  const std::string &directory() const { return folder; }
  uint64_t size() const { return bytes; }

private:
  void reserve();
  void fillWithZeros();
  [[noreturn]] void failToMake(int error, const char *what) const;
  [[noreturn]] void failToMove(const char *what, uint64_t offset, uint64_t count, int error) const;
  template <typename Move> void move(const char *what, uint64_t offset, uint64_t count, Move call) const;

  std::string folder;
  uint64_t bytes;
  int descriptor = -1;
  mutable std::atomic<bool> isDirect = false;
};

} // namespace kedge::rt
