// Files by descriptor and by name, as the system of a program has them. Names are UTF-8 and may be of any
// length. What fails returns -1, false or nothing, and its reason in errno.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace kedge::rt::platform {

enum class Opening {
  Read,    ///< never waits: a pipe is opened before anybody writes to it
  Replace, ///< to write: made, or emptied
  Create,  ///< to write: made; an error if it is there
  Append,  ///< to write at its end: made, or gone on with
  Update   ///< to read and write: made, or kept; not followed where it is a link
};

/// A descriptor that programs started from this one do not get. Others may rename and remove the file
/// meanwhile.
int openFile(const std::string &path, Opening how);
bool closeFile(int descriptor);

/// As read(2), write(2), pread(2) and pwrite(2): how much was moved, perhaps less than `count`.
int64_t writeNext(int descriptor, const void *from, size_t count);
int64_t readAt(int descriptor, void *to, size_t count, uint64_t offset);
int64_t writeAt(int descriptor, const void *from, size_t count, uint64_t offset);

/// Cuts the file to `bytes`; what is appended then follows them.
bool cutFile(int descriptor, uint64_t bytes);
/// Cuts the last `count` bytes off.
bool cutEnd(int descriptor, uint64_t count);
/// What was written survives a power cut from here on. True where the file is of a kind that keeps nothing.
bool syncFile(int descriptor);
/// The same for names in a folder, where the system keeps them apart.
void syncFolder(const std::string &path);

struct FileFacts {
  bool isRegular = false;
  uint64_t device = 0, inode = 0, bytes = 0; ///< device and inode tell which file it is
  int64_t changed = 0;                       ///< nanoseconds
};
std::optional<FileFacts> factsOf(int descriptor);
std::optional<FileFacts> factsOf(const std::string &path);

bool removeFile(const std::string &path);
/// Renames `from` to `to`, in one step; a file of that name, which others may have open, is replaced.
bool replaceFile(const std::string &from, const std::string &to);
/// Exchanges two names in one step; false where the system has no such step.
bool exchangeNames(const std::string &one, const std::string &other);
/// Whether files can be made in the folder.
bool isWritableFolder(const std::string &path);
/// The folder that contains `path`; "." if the path has none.
std::string folderOf(const std::string &path);
/// Whether it names something in a folder, and not in another one.
bool isPlainName(const std::string &name);
/// Whether a path means the same in every folder.
bool isAbsolute(const std::string &path);
/// Whether an error means that no more bytes fit.
bool meansFull(int reason);

enum class Locking { Locked, Held, Unknown }; ///< Unknown: the file system keeps no locks
/// Of the whole file, for as long as the descriptor is open.
Locking lockFile(int descriptor);

/// A file without a name, which ends with the process, however that ends. `path` begins its name for as long
/// as it has one.
int makeNamelessFile(const std::string &path);
enum class Reserving { Done, Impossible, Failed };
/// Takes the room for that many zeros; Impossible: they have to be written.
Reserving reserveRoom(int descriptor, uint64_t bytes);
/// Whether reads and writes go past the system's cache from now on, in blocks; false where they cannot.
bool passCache(int descriptor, bool passes);
/// A range that is not read again soon.
void dropFromCache(int descriptor, uint64_t offset, uint64_t bytes);
/// Of the file system of that folder.
std::optional<uint64_t> freeBytes(const std::string &folder);

} // namespace kedge::rt::platform
