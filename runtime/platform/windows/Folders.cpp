#include "runtime/platform/Folders.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/windows/Wide.h"
#include <cerrno>

namespace kedge::rt::platform {
namespace {

/// Of what is at a path, not behind it; INVALID_FILE_ATTRIBUTES: nothing is.
DWORD attributesOf(const std::string &path) { return GetFileAttributesW(widePath(path).c_str()); }

bool isInFolder(const std::wstring &name) { return name != L"." && name != L".."; }

std::wstring fullPath(const std::string &path) {
  const std::wstring given = wide(path);
  std::wstring whole(GetFullPathNameW(given.c_str(), 0, nullptr, nullptr), L'\0');
  whole.resize(GetFullPathNameW(given.c_str(), static_cast<DWORD>(whole.size()), whole.data(), nullptr));
  return whole;
}

/// Without the prefix of names of any length.
std::string plainPath(const std::wstring &path) {
  const std::wstring server = L"\\\\?\\UNC\\", any = L"\\\\?\\";
  if (path.rfind(server, 0) == 0)
    return "\\\\" + narrow(path.substr(server.size()));
  return narrow(path.rfind(any, 0) == 0 ? path.substr(any.size()) : path);
}

} // namespace

bool exists(const std::string &path) { return factsOf(path).has_value(); }

bool isFolder(const std::string &path) {
  const DWORD attributes = attributesOf(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

std::optional<uint64_t> fileSize(const std::string &path) {
  const auto facts = factsOf(path);
  return facts ? std::optional(facts->bytes) : std::nullopt;
}

bool makeFolders(const std::string &path) {
  if (isFolder(path))
    return true;
  if (CreateDirectoryW(widePath(path).c_str(), nullptr))
    return true;
  const std::string above = folderOf(path);
  if (GetLastError() != ERROR_PATH_NOT_FOUND || above == path)
    return failed() || isFolder(path); // another program may have made it
  return makeFolders(above) &&
         (CreateDirectoryW(widePath(path).c_str(), nullptr) || isFolder(path) || failed());
}

bool removeAll(const std::string &path) {
  const DWORD attributes = attributesOf(path);
  if (attributes == INVALID_FILE_ATTRIBUTES)
    return GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND || failed();
  if (!(attributes & FILE_ATTRIBUTE_DIRECTORY))
    return removeFile(path);
  bool all = true;
  if (!(attributes & FILE_ATTRIBUTE_REPARSE_POINT)) // a link's folder is another's
    for (const std::string &name : namesIn(path))
      all = removeAll(path + "\\" + name) && all;
  return all && (RemoveDirectoryW(widePath(path).c_str()) || failed());
}

bool renamePath(const std::string &from, const std::string &to) {
  if (!isFolder(from))
    return replaceFile(from, to);
  RemoveDirectoryW(widePath(to).c_str()); // does so where it is empty
  return MoveFileExW(widePath(from).c_str(), widePath(to).c_str(), MOVEFILE_WRITE_THROUGH) || failed();
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW(widePath(folder + "\\*").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE)
    return names;
  do
    if (isInFolder(found.cFileName))
      names.push_back(narrow(found.cFileName));
  while (FindNextFileW(search, &found));
  FindClose(search);
  return names;
}

std::string placeOf(const std::string &path) {
  if (const auto real = realPath(path))
    return *real;
  const std::string folder = folderOf(path), name = nameOf(path);
  if (const auto real = name.empty() || folder == path ? std::nullopt : realPath(folder))
    return *real + (real->back() == '\\' ? "" : "\\") + name;
  return narrow(fullPath(path));
}

std::optional<std::string> realPath(const std::string &path) {
  const HANDLE file = CreateFileW(widePath(path).c_str(), FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    failed();
    return std::nullopt;
  }
  std::wstring name(32768, L'\0');
  name.resize(GetFinalPathNameByHandleW(file, name.data(), static_cast<DWORD>(name.size()), 0));
  CloseHandle(file);
  return name.empty() ? narrow(fullPath(path)) : plainPath(name);
}

std::string absolutePath(const std::string &path) { return narrow(fullPath(path)); }

std::string nameOf(const std::string &path) { return path.substr(path.find_last_of("/\\") + 1); }

} // namespace kedge::rt::platform
