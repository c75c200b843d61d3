// What the Windows implementations share: names as UTF-16, and errors as errno.
#pragma once
#include <string>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// Words that other files use as names.
#undef far
#undef near

namespace kedge::rt::platform {

std::wstring wide(const std::string &text);
std::string narrow(const std::wstring &text);
/// A path for the system's functions: absolute, with the prefix that lets it be of any length where it is
/// long.
std::wstring widePath(const std::string &path);
/// Sets errno by the thread's last error; false.
bool failed();

} // namespace kedge::rt::platform
