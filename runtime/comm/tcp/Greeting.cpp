#include "runtime/comm/tcp/Greeting.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/random.h>

namespace kedge::rt::tcp {
namespace {

template <size_t count> void draw(std::array<uint64_t, count> &numbers) {
  char *at = reinterpret_cast<char *>(numbers.data());
  for (size_t left = sizeof(numbers); left > 0;) {
    const ssize_t drawn = getrandom(at, left, 0);
    if (drawn < 0 && errno != EINTR)
      fail("no random numbers: {}", std::strerror(errno));
    at += std::max<ssize_t>(drawn, 0);
    left -= static_cast<size_t>(std::max<ssize_t>(drawn, 0));
  }
}

/// The proof of one side, which the other cannot send back as its own.
Digest proofOf(bool isHost, const Hello &visitor, const Hello &host, const Secret &secret) {
  std::array<uint8_t, 1 + 2 * sizeof(Hello)> signedBytes{static_cast<uint8_t>(isHost ? 'h' : 'v')};
  std::memcpy(signedBytes.data() + 1, &visitor, sizeof(Hello));
  std::memcpy(signedBytes.data() + 1 + sizeof(Hello), &host, sizeof(Hello));
  return secret.sign(signedBytes);
}

bool isPort(int32_t port) { return port > 0 && port <= 65535; }

} // namespace

void drawNonce(Hello &hello) { draw(hello.nonce); }

std::array<uint64_t, 2> drawProcess() {
  std::array<uint64_t, 2> process{};
  draw(process);
  return process;
}

bool isSameJob(const Hello &left, const Hello &right) {
  return left.magic == right.magic && left.job == right.job && left.place == right.place;
}

bool isPeer(const Hello &own, const Hello &other) {
  return isSameJob(own, other) && other.size == own.size && other.rank >= 0 && other.rank < own.size &&
         other.rank != own.rank && other.wanted == own.rank && (other.channel == 0 || other.channel == 1) &&
         isPort(other.port) && other.process != own.process;
}

/// Whether the next `count` bytes have come whole.
bool Visitor::read(void *bytes, size_t count) {
  while (received < count && !ended) {
    const auto moved = socket.receiveSome(static_cast<char *>(bytes) + received, count - received);
    ended = !moved;
    if (!moved || *moved == 0)
      return false;
    received += *moved;
  }
  return received == count;
}

Visitor::State Visitor::advance(const Secret &secret) {
  if (!isAnswered) {
    if (!read(&other, sizeof(other)))
      return ended ? State::Refused : State::Waiting;
    return answer(secret);
  }
  if (!read(&proof, sizeof(proof)))
    return ended ? State::Refused : State::Waiting;
  const bool isRight = isSame(proof, proofOf(false, other, own, secret));
  return isRight ? State::Proven : State::Refused;
}

/// A rank of another job or number of ranks sees in the answer what is different.
Visitor::State Visitor::answer(const Secret &secret) {
  if (other.magic != own.magic)
    return State::Refused;
  own.channel = other.channel;
  own.wanted = other.rank;
  drawNonce(own);
  const Answer answer{own, proofOf(true, other, own, secret)};
  if (socket.sendSome(&answer, sizeof(answer)) != sizeof(answer)) // a new connection takes as much
    return State::Refused;
  isAnswered = true;
  received = 0;
  otherSize = isSameJob(own, other) && other.size != own.size;
  return isPeer(own, other) ? State::Waiting : State::Refused;
}

Socket Visitor::dismiss(GreetingVerdict verdict) {
  (void)socket.sendSome(&verdict, sizeof(verdict)); // who has gone is noticed later
  return std::move(socket);
}

Visit visit(const Socket &socket, Hello own, const Secret &secret, int64_t answerBy, int64_t deadline,
            Hello *host) {
  drawNonce(own);
  Answer answer;
  if (!socket.sendAll(&own, sizeof(own), answerBy) || !socket.receiveAll(&answer, sizeof(answer), answerBy))
    return Visit::Silent;
  const Hello &other = answer.hello;
  if (other.magic != own.magic || other.rank != own.wanted || other.wanted != own.rank ||
      other.channel != own.channel || other.process == own.process || other.place != own.place)
    return Visit::Stranger;
  if (other.job != own.job)
    return Visit::OtherJob;
  if (other.size != own.size)
    return Visit::OtherSize;
  if (!isPeer(own, other))
    return Visit::Stranger;
  if (!isSame(answer.proof, proofOf(true, own, other, secret)))
    return Visit::OtherSecret;
  const Digest proof = proofOf(false, own, other, secret);
  GreetingVerdict verdict{};
  if (!socket.sendAll(&proof, sizeof(proof), deadline) ||
      !socket.receiveAll(&verdict, sizeof(verdict), deadline))
    return Visit::Silent;
  if (host)
    *host = other;
  return verdict == GreetingVerdict::Welcome        ? Visit::Welcome
         : verdict == GreetingVerdict::TwoProcesses ? Visit::TwoProcesses
                                                    : Visit::Silent;
}

} // namespace kedge::rt::tcp
