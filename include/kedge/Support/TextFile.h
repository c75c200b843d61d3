#pragma once
#include <string>

namespace kedge {

/// Replaces the file in one step: it is there whole or not at all. Devices and pipes are written to. Throws kedge::Error.
void writeText(const std::string &path, const std::string &text);

/// What a rename onto `path` is to replace: links are followed. Throws kedge::Error when it is no regular file: as root a
/// rename onto a device would destroy it.
std::string replaceableFile(const std::string &path);

} // namespace kedge
