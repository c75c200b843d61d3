#include "runtime/comm/tcp/Sha256.h"
#include <algorithm>
#include <bit>

namespace kedge::rt::tcp {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t bigEndian(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

} // namespace

void Sha256::take(const uint8_t *block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < 16; ++i)
    words[i] = bigEndian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t early = words[i - 15], late = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3)) +
               (std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i)
    state[i] += mixed[i];
}

void Sha256::add(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t at = count % kBlock, taken = std::min(bytes.size(), kBlock - at);
    std::copy_n(bytes.begin(), taken, waiting.begin() + static_cast<std::ptrdiff_t>(at));
    count += taken;
    bytes = bytes.subspan(taken);
    if (count % kBlock == 0)
      take(waiting.data());
  }
}

Digest Sha256::end() {
  const uint64_t bits = 8 * count;
  const size_t used = count % kBlock, room = kBlock - 8;
  std::array<uint8_t, 2 * kBlock> padding{0x80};
  const size_t zeros = (used < room ? room : room + kBlock) - used;
  for (size_t i = 0; i < 8; ++i)
    padding[zeros + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  add(std::span(padding).first(zeros + 8));
  Digest digest{};
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::span<const uint8_t> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.end();
}

Digest hmacSha256(std::span<const uint8_t> key, std::span<const uint8_t> message) {
  std::array<uint8_t, 64> inner{}, outer{};
  const Digest shortened = sha256(key);
  const std::span<const uint8_t> used = key.size() > inner.size() ? std::span(shortened) : key;
  std::copy(used.begin(), used.end(), inner.begin());
  for (size_t i = 0; i < inner.size(); ++i) {
    outer[i] = inner[i] ^ 0x5c;
    inner[i] ^= 0x36;
  }
  Sha256 first, second;
  first.add(inner);
  first.add(message);
  const Digest digest = first.end();
  second.add(outer);
  second.add(digest);
  return second.end();
}

bool isSame(const Digest &left, const Digest &right) {
  uint8_t difference = 0;
  for (size_t i = 0; i < left.size(); ++i)
    difference |= left[i] ^ right[i];
  return difference == 0;
}

} // namespace kedge::rt::tcp
