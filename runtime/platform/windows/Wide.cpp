#include "runtime/platform/windows/Wide.h"
#include <cerrno>

namespace kedge::rt::platform {
namespace {

int errnoOf(DWORD error) {
  switch (error) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
  case ERROR_INVALID_NAME:
  case ERROR_BAD_PATHNAME:
  case ERROR_INVALID_DRIVE:
    return ENOENT;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION:
  case ERROR_LOCK_VIOLATION:
  case ERROR_USER_MAPPED_FILE:
    return EACCES;
  case ERROR_FILE_EXISTS:
  case ERROR_ALREADY_EXISTS:
    return EEXIST;
  case ERROR_DISK_FULL:
  case ERROR_HANDLE_DISK_FULL:
    return ENOSPC;
  case ERROR_NOT_ENOUGH_MEMORY:
  case ERROR_OUTOFMEMORY:
  case ERROR_COMMITMENT_LIMIT:
  case ERROR_NO_SYSTEM_RESOURCES:
    return ENOMEM;
  case ERROR_TOO_MANY_OPEN_FILES:
    return EMFILE;
  case ERROR_FILENAME_EXCED_RANGE:
    return ENAMETOOLONG;
  case ERROR_WRITE_PROTECT:
    return EROFS;
  case ERROR_BROKEN_PIPE:
  case ERROR_NO_DATA:
    return EPIPE;
  case ERROR_DIRECTORY:
    return ENOTDIR;
  case ERROR_INVALID_PARAMETER:
  case ERROR_INVALID_HANDLE:
    return EINVAL;
  default:
    return EIO;
  }
}

constexpr wchar_t kAnyLength[] = L"\\\\?\\";
/// Folders take names shorter than files'.
constexpr size_t kShort = MAX_PATH - 14;

} // namespace

std::wstring wide(const std::string &text) {
  const int size = MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0);
  std::wstring result(static_cast<size_t>(size), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), result.data(), size);
  return result;
}

std::string narrow(const std::wstring &text) {
  const int count = static_cast<int>(text.size());
  const int size = WideCharToMultiByte(CP_UTF8, 0, text.data(), count, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<size_t>(size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), count, result.data(), size, nullptr, nullptr);
  return result;
}

std::wstring widePath(const std::string &path) {
  std::wstring given = wide(path);
  if (given.rfind(kAnyLength, 0) == 0)
    return given;
  const DWORD size = GetFullPathNameW(given.c_str(), 0, nullptr, nullptr);
  if (size <= kShort)
    return given;
  std::wstring whole(size, L'\0');
  whole.resize(GetFullPathNameW(given.c_str(), size, whole.data(), nullptr));
  if (whole.rfind(L"\\\\", 0) == 0) // of a server
    return std::wstring(kAnyLength) + L"UNC" + whole.substr(1);
  return kAnyLength + whole;
}

bool failed() {
  errno = errnoOf(GetLastError());
  return false;
}

} // namespace kedge::rt::platform
