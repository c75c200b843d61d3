#pragma once
#include <string>

namespace kedge {

/// Replaces the file in one step, so that it is never half-written. Devices and pipes are written to. Throws
/// kedge::Error.
void writeText(const std::string &path, const std::string &text);

/// The file that a rename onto `path` would replace, with links followed. Throws kedge::Error
/// if it is not a regular file: as root, a rename onto a device would destroy the device.
std::string replaceableFile(const std::string &path);

} // namespace kedge
