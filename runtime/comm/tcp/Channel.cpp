#include "runtime/comm/tcp/Channel.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt::tcp {
namespace {

/// Where the byte `moved` of a head and its bytes lies, and how many follow it there.
template <typename Bytes> struct Piece {
  Bytes *at;
  size_t left;
  Piece(Head &head, Bytes *bytes, size_t count, size_t moved)
      : at(moved < sizeof(Head) ? reinterpret_cast<Bytes *>(&head) + moved : bytes + (moved - sizeof(Head))),
        left(moved < sizeof(Head) ? sizeof(Head) - moved : count - (moved - sizeof(Head))) {}
};

} // namespace

void Channel::advanceSends() {
  while (!sending.empty() && !refused) {
    Post &post = *sending.front();
    if (sent == 0)
      outgoing = {post.count, post.tag, Head().magic};
    while (sent < sizeof(Head) + post.count) {
      const Piece<const char> piece(outgoing, post.from, post.count, sent);
      const auto moved = socket.sendSome(piece.at, piece.left);
      refused |= !moved;
      if (!moved || *moved == 0)
        return;
      sent += *moved;
    }
    post.done = true;
    sent = 0;
    sending.erase(sending.begin());
  }
}

void Channel::advanceReceives() {
  while (!posts.empty() && !ended) {
    Post &post = *posts.front();
    while (received < sizeof(Head) + (received < sizeof(Head) ? 0 : incoming.count)) {
      const Piece<char> piece(incoming, post.into, incoming.count, received);
      const auto moved = socket.receiveSome(piece.at, piece.left);
      ended |= !moved;
      if (!moved || *moved == 0)
        return;
      received += *moved;
      const bool isWanted = post.tag == kAnyTag ? incoming.count <= post.count
                                                : incoming.count == post.count && incoming.tag == post.tag;
      if (received == sizeof(Head) && (incoming.magic != Head().magic || !isWanted))
        fail("the ranks' messages do not match: {} bytes of kind {} came where {} of kind {} were expected",
             incoming.count, incoming.tag, post.count, post.tag);
    }
    post.count = incoming.count;
    post.tag = incoming.tag;
    post.done = true;
    received = 0;
    posts.erase(posts.begin());
  }
}

} // namespace kedge::rt::tcp
