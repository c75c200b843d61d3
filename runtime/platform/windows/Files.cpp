#include "runtime/platform/Files.h"
#include "runtime/platform/windows/Wide.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <io.h>
#include <vector>

namespace kedge::rt::platform {
namespace {

constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr size_t kMostAtOnce = size_t(1) << 30; // of one call

HANDLE handleOf(int descriptor) { return reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)); }

class Handle {
public:
  explicit Handle(HANDLE handle) : handle(handle) {}
  ~Handle() {
    if (isOpen())
      CloseHandle(handle);
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  bool isOpen() const { return handle != INVALID_HANDLE_VALUE; }
  operator HANDLE() const { return handle; }

private:
  HANDLE handle;
};

/// Folders are opened, too: it is for who opened it to say that it is none of the files wanted.
HANDLE openHandle(const std::string &path, DWORD access, DWORD disposition, DWORD flags = 0) {
  return CreateFileW(widePath(path).c_str(), access, kShared, nullptr, disposition,
                     FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
}

/// The offset of a read or a write, and 64 bits of it.
OVERLAPPED placeOf(uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

std::optional<FileFacts> factsFrom(HANDLE handle) {
  BY_HANDLE_FILE_INFORMATION found;
  if (!GetFileInformationByHandle(handle, &found)) {
    failed();
    return std::nullopt;
  }
  const auto both = [](DWORD high, DWORD low) { return uint64_t(high) << 32 | low; };
  const bool isFolder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
  return FileFacts{
      GetFileType(handle) == FILE_TYPE_DISK && !isFolder, found.dwVolumeSerialNumber,
      both(found.nFileIndexHigh, found.nFileIndexLow), both(found.nFileSizeHigh, found.nFileSizeLow),
      static_cast<int64_t>(both(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime) *
                           100)};
}

/// FILE_RENAME_INFO with the flags of Windows 10, which older headers lack.
struct Renaming {
  DWORD flags;
  HANDLE root;
  DWORD nameBytes;
  wchar_t name[1];
};

/// As rename(2): who has the replaced file open keeps it. False where the file system or the system cannot.
bool renameWhileOpen(const std::string &from, const std::wstring &to) {
  constexpr auto kRenameEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD kReplaces = 1, kAsPosix = 2;
  const Handle file(openHandle(from, DELETE | SYNCHRONIZE, OPEN_EXISTING));
  if (!file.isOpen())
    return false;
  std::vector<char> room(sizeof(Renaming) + to.size() * sizeof(wchar_t));
  const Renaming facts{kReplaces | kAsPosix, nullptr, static_cast<DWORD>(to.size() * sizeof(wchar_t)), {}};
  std::memcpy(room.data(), &facts, sizeof facts);
  std::memcpy(room.data() + offsetof(Renaming, name), to.data(), to.size() * sizeof(wchar_t));
  return SetFileInformationByHandle(file, kRenameEx, room.data(), static_cast<DWORD>(room.size()));
}

bool setLength(int descriptor, uint64_t bytes) {
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  return SetFileInformationByHandle(handleOf(descriptor), FileEndOfFileInfo, &end, sizeof end) || failed();
}

int descriptorOf(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) {
    failed();
    return -1;
  }
  const int descriptor =
      _open_osfhandle(reinterpret_cast<intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT);
  if (descriptor < 0)
    CloseHandle(handle);
  return descriptor;
}

} // namespace

int openFile(const std::string &path, Opening how) {
  constexpr DWORD kWrites = GENERIC_WRITE, kBoth = GENERIC_READ | GENERIC_WRITE;
  switch (how) {
  case Opening::Read:
    return descriptorOf(openHandle(path, GENERIC_READ, OPEN_EXISTING), _O_RDONLY);
  case Opening::Replace:
    return descriptorOf(openHandle(path, kWrites, CREATE_ALWAYS), 0);
  case Opening::Create:
    return descriptorOf(openHandle(path, kWrites, CREATE_NEW), 0);
  case Opening::Append:
    return descriptorOf(openHandle(path, kWrites, OPEN_ALWAYS), _O_APPEND);
  case Opening::Update:
    return descriptorOf(openHandle(path, kBoth, OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT), 0);
  }
  return -1;
}

bool closeFile(int descriptor) { return _close(descriptor) == 0; }

int64_t writeNext(int descriptor, const void *from, size_t count) {
  return _write(descriptor, from, static_cast<unsigned>(std::min(count, kMostAtOnce)));
}

int64_t readAt(int descriptor, void *to, size_t count, uint64_t offset) {
  OVERLAPPED place = placeOf(offset);
  DWORD moved = 0;
  if (ReadFile(handleOf(descriptor), to, static_cast<DWORD>(std::min(count, kMostAtOnce)), &moved, &place) ||
      GetLastError() == ERROR_HANDLE_EOF)
    return moved;
  return failed() ? 0 : -1;
}

int64_t writeAt(int descriptor, const void *from, size_t count, uint64_t offset) {
  OVERLAPPED place = placeOf(offset);
  DWORD moved = 0;
  if (WriteFile(handleOf(descriptor), from, static_cast<DWORD>(std::min(count, kMostAtOnce)), &moved, &place))
    return moved;
  return failed() ? 0 : -1;
}

bool cutFile(int descriptor, uint64_t bytes) { return setLength(descriptor, bytes); }

bool cutEnd(int descriptor, uint64_t count) {
  const auto facts = factsOf(descriptor);
  return facts && (facts->bytes < count || setLength(descriptor, facts->bytes - count));
}

bool syncFile(int descriptor) { return _commit(descriptor) == 0; }

void syncFolder(const std::string &) {} // NTFS writes names to its journal

std::optional<FileFacts> factsOf(int descriptor) { return factsFrom(handleOf(descriptor)); }

std::optional<FileFacts> factsOf(const std::string &path) {
  const Handle file(openHandle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING));
  if (file.isOpen())
    return factsFrom(file);
  failed();
  return std::nullopt;
}

bool removeFile(const std::string &path) { return DeleteFileW(widePath(path).c_str()) || failed(); }

bool replaceFile(const std::string &from, const std::string &to) {
  // Who looks for viruses has a new file open for a moment.
  constexpr int kAttempts = 20;
  constexpr DWORD kMilliseconds = 25;
  const std::wstring source = widePath(from), target = widePath(to);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (renameWhileOpen(from, target) ||
        MoveFileExW(source.c_str(), target.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
      return true;
    const DWORD error = GetLastError();
    if (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION)
      break;
    Sleep(kMilliseconds);
    SetLastError(error);
  }
  return failed();
}

bool exchangeNames(const std::string &, const std::string &) { return false; }

bool isWritableFolder(const std::string &path) {
  const Handle folder(openHandle(path, FILE_ADD_FILE, OPEN_EXISTING));
  if (!folder.isOpen())
    return failed();
  BY_HANDLE_FILE_INFORMATION found;
  if (GetFileInformationByHandle(folder, &found) && found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
    return true;
  errno = ENOTDIR;
  return false;
}

std::string folderOf(const std::string &path) {
  const size_t slash = path.find_last_of("/\\");
  const bool hasDrive = path.size() >= 2 && path[1] == ':';
  if (slash == std::string::npos)
    return hasDrive ? path.substr(0, 2) + "." : ".";
  return path.substr(0, slash == 0 || (hasDrive && slash == 2) ? slash + 1 : slash);
}

bool isPlainName(const std::string &name) {
  return !name.empty() && name.find_first_of("/\\:") == std::string::npos && name != "." && name != "..";
}

/// Programs also hold paths of the machine that compiled them, which may have had slashes.
bool isAbsolute(const std::string &path) {
  return !path.empty() && (path[0] == '/' || path[0] == '\\' || (path.size() > 1 && path[1] == ':'));
}

bool meansFull(int reason) { return reason == ENOSPC || reason == EFBIG; }

Locking lockFile(int descriptor) {
  // Locked bytes cannot be read by others, who want to know the holder: one that the file will never have is.
  OVERLAPPED place = placeOf(uint64_t(1) << 62);
  if (LockFileEx(handleOf(descriptor), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place))
    return Locking::Locked;
  const DWORD error = GetLastError();
  return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? Locking::Held : Locking::Unknown;
}

int makeNamelessFile(const std::string &path) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name =
        path + "." + std::to_string(GetCurrentProcessId()) + "-" + std::to_string(attempt);
    const HANDLE file =
        CreateFileW(widePath(name).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_DELETE, nullptr,
                    CREATE_NEW, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_FILE_EXISTS)
      return descriptorOf(file, 0);
  }
  errno = EEXIST;
  return -1;
}

/// NTFS takes the room for a file's whole length, and what was not written is read as zeros.
Reserving reserveRoom(int descriptor, uint64_t bytes) {
  return setLength(descriptor, bytes) ? Reserving::Done : Reserving::Failed;
}

bool passCache(int, bool) { return false; } // a property of opened files that cannot be changed

void dropFromCache(int, uint64_t, uint64_t) {}

std::optional<uint64_t> freeBytes(const std::string &folder) {
  ULARGE_INTEGER bytes;
  if (!GetDiskFreeSpaceExW(widePath(folder).c_str(), &bytes, nullptr, nullptr))
    return std::nullopt;
  return bytes.QuadPart;
}

} // namespace kedge::rt::platform
