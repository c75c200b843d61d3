// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the hellos of ranks. Why they are written here:
// docs/rationale/ranks-on-gpus.md.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kedge::rt::tcp {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
  void add(std::span<const uint8_t> bytes);
  /// Of all that was added. Nothing may be added afterwards.
  Digest end();

private:
  static constexpr size_t kBlock = 64;
  void take(const uint8_t *block);

  std::array<uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, kBlock> waiting{};
  uint64_t count = 0; ///< bytes added
};

Digest sha256(std::span<const uint8_t> bytes);
Digest hmacSha256(std::span<const uint8_t> key, std::span<const uint8_t> message);
/// In a time that does not depend on where they differ.
bool isSame(const Digest &left, const Digest &right);

} // namespace kedge::rt::tcp
