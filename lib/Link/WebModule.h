// Compiles C for WebAssembly, with the system's clang, wasm-ld and wasi-libc.
#pragma once
#include <string>
#include <vector>

namespace kedge::link {

/// Throws Error where one of the three is not on this machine. Called before any work is done.
void checkWebTools();

/// The bytes of a module with vectors of 128 bits, a memory of its own and `exports` (those that are
/// defined). `source` includes NAME.h, which `header` is. Products and sums stay apart. Throws Error with the
/// compiler's text.
std::string compileForWeb(const std::string &source, const std::string &header, const std::string &name,
                          const std::vector<std::string> &exports);

} // namespace kedge::link
