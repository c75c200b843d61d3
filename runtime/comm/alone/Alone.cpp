// Where programs run on one rank alone: no launcher starts more.
#include "runtime/comm/RollCall.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/tcp/Connect.h"
#include "runtime/io/Error.h"

namespace kedge::rt {
namespace {

[[noreturn]] void refuse(const World &world) {
  fail("{} ranks: not available yet on this system; start the program alone", world.size);
}

} // namespace

std::unique_ptr<Communicator> connectByMpi(const World &world, double) { refuse(world); }

std::unique_ptr<Communicator> connectByTcp(const World &world, const Rendezvous &, double) { refuse(world); }

std::unique_ptr<RollCall> RollCall::begin() { return nullptr; }

RollCall::~RollCall() = default;

void RollCall::watch(const Launched &, double, const char *) {}
void RollCall::rest() {}
void RollCall::leave() {}

} // namespace kedge::rt
