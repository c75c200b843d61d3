// What torchrun does for its ranks, without it.
#pragma once
#include "runtime/comm/tcp/Socket.h"
#include <string>

namespace kedge::test {

/// A port that nobody listened at a moment ago.
inline int64_t freePort() { return rt::tcp::portOf(rt::tcp::listenAt(0)); }

/// A command that starts `ranks` processes of `program` and ends with a code other than 0 when one of the
/// others than the last does; the last is killed then, as it may have been stopped.
inline std::string torchrun(int ranks, const std::string &program, const std::string &environment = "") {
  return "timeout 120 sh -c 'r=0; while [ $r -lt " + std::to_string(ranks) +
         " ]; do RANK=$r WORLD_SIZE=" + std::to_string(ranks) +
         " LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(freePort()) + " " +
         environment + " " + program +
         " & all=\"$all $last\"; last=$!; r=$((r + 1)); done; for p in $all; do wait $p || code=$?; done; "
         "[ -z \"$code\" ] || kill -9 $last; wait $last; exit ${code:-$?}'";
}

} // namespace kedge::test
