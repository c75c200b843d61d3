// Names in the file system. Texts are UTF-8, and may be of any length. What fails returns false or nothing,
// and its reason in errno.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::platform {

bool exists(const std::string &path);
bool isFolder(const std::string &path);
std::optional<uint64_t> fileSize(const std::string &path);

/// With those above it; true if it was there.
bool makeFolders(const std::string &path);
/// A file, or a folder with all that is in it; true if there was nothing.
bool removeAll(const std::string &path);
/// Also of folders. A file of the new name is replaced, a folder only if it is empty.
bool renamePath(const std::string &from, const std::string &to);
/// What a folder holds; nothing if it cannot be read.
std::vector<std::string> namesIn(const std::string &folder);

/// Absolute, without "." and "..", and seen through links as far as it exists.
std::string placeOf(const std::string &path);
/// The same; nothing if it does not exist.
std::optional<std::string> realPath(const std::string &path);
/// Absolute and without "." and "..", but links stay.
std::string absolutePath(const std::string &path);
/// Behind the last separator.
std::string nameOf(const std::string &path);

} // namespace kedge::rt::platform
