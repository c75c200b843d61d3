// The text of a checkpoint's manifest: JSON whose last entry is a checksum of all before it.
#pragma once
#include "runtime/train/report/Log.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kedge::rt {

/// `manifest` has no checksum yet.
std::string sealedManifest(const nlohmann::ordered_json &manifest);

/// Throws rt::RuntimeError, or nlohmann's, if the text is damaged, has another format, or lacks the checksum
/// of its format.
nlohmann::ordered_json openManifest(std::string_view text);

/// Throws rt::RuntimeError unless `key` is a whole number from 0 to 2^53.
int64_t countIn(const nlohmann::ordered_json &json, const char *key);

/// Throws rt::RuntimeError unless the value of `key` is one that the option of this name takes; `name`: what
/// the manifest calls it.
void checkRange(const char *key, double value, const char *name = nullptr);

/// A line of the log without evaluation.
nlohmann::ordered_json lineJson(const LogLine &line);
LogLine lineIn(const nlohmann::ordered_json &json, int64_t step);

} // namespace kedge::rt
