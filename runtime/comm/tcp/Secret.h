// What the ranks of a job know and nobody else does, so that no stranger is one of them.
#pragma once
#include "runtime/comm/tcp/Sha256.h"
#include <string>

namespace kedge::rt::tcp {

class Secret {
public:
  Secret() = default;
  explicit Secret(std::string text) : text(std::move(text)) {}

  bool isGiven() const { return !text.empty(); }
  /// Who knows the secret has said these bytes. Without a secret anybody can compute it.
  Digest sign(std::span<const uint8_t> message) const {
    return hmacSha256({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, message);
  }

  static constexpr size_t kShortest = 16, kLongest = 4096;

private:
  std::string text;
};

/// KEDGE_JOB_SECRET, or the content of the file that KEDGE_JOB_SECRET_FILE names; none without both. Throws
/// rt::RuntimeError if it is empty or short, or if others may read the file.
Secret secretOfJob();

} // namespace kedge::rt::tcp
