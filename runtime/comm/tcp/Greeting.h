// The first words of a connection between two ranks, of both sides. The visitor says hello, the host answers
// with its own and a proof that it knows the job's secret, the visitor proves the same, and the host lets it
// in.
#pragma once
#include "runtime/comm/tcp/Secret.h"
#include "runtime/comm/tcp/Socket.h"
#include <type_traits>

namespace kedge::rt::tcp {

/// Nothing in it is believed before the proof, and then no more than the range of each number allows.
struct Hello {
  std::array<char, 8> magic{'k', 'e', 'd', 'g', 'e', ' ', '3', 0};
  uint64_t job = 0;                  ///< a hash of its name
  std::array<uint64_t, 2> process{}; ///< random: tells a second try of a process from a second process
  std::array<uint64_t, 4> nonce{};   ///< random, of this connection: a proof is good for one only
  int32_t rank = 0, size = 0;
  int32_t channel = 0; ///< 0 control, 1 data
  int32_t wanted = 0;  ///< the rank that this one talks to
  int32_t place = 0;   ///< MASTER_PORT: two jobs may have one name
  int32_t port = 0;    ///< where the rank listens
};
static_assert(std::has_unique_object_representations_v<Hello>, "it is signed byte by byte");

struct Answer {
  Hello hello;
  Digest proof{};
};
static_assert(std::has_unique_object_representations_v<Answer>);

/// The host's last word.
enum class GreetingVerdict : uint32_t { Welcome = 1, TwoProcesses = 2 };

/// Fills in what is random of a connection.
void drawNonce(Hello &hello);
std::array<uint64_t, 2> drawProcess();

/// What two ranks that talk to each other must say.
bool isSameJob(const Hello &left, const Hello &right);
/// Of the same job, in every number that it may have.
bool isPeer(const Hello &own, const Hello &other);

/// The host's side of one connection. Never blocks.
class Visitor {
public:
  /// `own`: channel, wanted and nonce are filled in here. `until`: when it should have proved who it is.
  Visitor(Socket socket, std::string from, const Hello &own, int64_t until)
      : socket(std::move(socket)), from(std::move(from)), own(own), until(until) {}

  enum class State { Waiting, Proven, Refused };
  /// Reads what has come. A refused one hears nothing but the answer to its hello.
  State advance(const Secret &secret);
  bool isLate(int64_t now) const { return now > until; }

  /// Once proven.
  const Hello &hello() const { return other; }
  const std::string &host() const { return from; }
  /// Tells it the verdict; the connection is the caller's then.
  Socket dismiss(GreetingVerdict verdict);
  int number() const { return socket.number(); }
  bool wasOfOtherSize() const { return otherSize; }

private:
  bool read(void *bytes, size_t count);
  State answer(const Secret &secret);

  Socket socket;
  std::string from;
  Hello own, other;
  Digest proof{};
  int64_t until;
  size_t received = 0; ///< bytes of what is awaited
  bool isAnswered = false, ended = false, otherSize = false;
};

/// How a visit ended.
enum class Visit {
  Welcome,
  Silent,      ///< nobody answered in time
  Stranger,    ///< who answered is not the rank that was looked for, or of a job elsewhere
  OtherJob,    ///< that meets at the same place
  OtherSize,   ///< the same job with another number of ranks
  OtherSecret, ///< the same job; refused
  TwoProcesses ///< the host has met another process of this rank
};

/// The visitor's side. `own` says who wants whom on which channel; its nonce is filled in here. The host has
/// until `answerBy` to answer, and then until `deadline` to let it in.
Visit visit(const Socket &socket, Hello own, const Secret &secret, int64_t answerBy, int64_t deadline,
            Hello *host = nullptr);

} // namespace kedge::rt::tcp
