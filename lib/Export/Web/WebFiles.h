// A program for browsers and node: a WebAssembly module with its weights, and what loads it.
#pragma once
#include "runtime/program/Program.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kedge::exporter {

/// What JavaScript knows of a program: its inputs, outputs, tensors and rates by name, with shapes and
/// places. `image` and `name` as programInC's.
nlohmann::json webDescription(const rt::ProgramImage &image, const std::string &name);

/// What the module exports, of what programInC's C declares, to be found by the linker.
std::vector<std::string> webExports(const std::string &name);

/// Weights of the model one after the other; webDescription's "initial" has their places in the arena.
std::string initialStates(const rt::ProgramImage &image);

/// `module`, the bytes of a WebAssembly module, with a section "kedge.weights" that holds `states`.
std::string withStates(const std::string &module, const std::string &states);

/// Files by name: NAME.wasm, NAME.mjs and NAME.d.ts; NAME.js, which holds the module, too, for pages that are
/// opened from a file; NAME.html, such a page.
std::map<std::string, std::string> webFiles(const nlohmann::json &description, const std::string &module);

} // namespace kedge::exporter
