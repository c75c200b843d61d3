// A read-only file in memory: mapped from disk, or made from bytes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kedge::model {

class MappedFile {
public:
  /// Maps a regular file. Throws kedge::Error that names the file and the system's reason.
  static std::shared_ptr<const MappedFile> open(const std::string &path);
  /// Uses `bytes` as the content of a file called `path`.
  static std::shared_ptr<const MappedFile> fromBytes(std::vector<uint8_t> bytes, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return bytes; }
  uint64_t size() const { return length; }
  const std::string &path() const { return name; }

private:
  MappedFile() = default;
  const uint8_t *bytes = nullptr;
  uint64_t length = 0;
  bool mapped = false;
  std::vector<uint8_t> owned;
  std::string name;
};

/// The full path of external data, whose `location` is relative to the model's folder. Throws
/// kedge::Error when it is absolute, leaves the folder, or leads out of it through
/// a symbolic link. `what` names the tensor in messages. The file need not exist.
std::string resolveExternalPath(const std::string &modelPath, const std::string &location,
                                const std::string &what);

/// Size of a regular file; -1 if there is none.
int64_t regularFileSize(const std::string &path);

} // namespace kedge::model
