// The tools as functions: each has an executable of its own, and kedge-all has them all.
#pragma once

namespace kedge::tool {

int kedgeMain(int argc, char **argv);
int optMain(int argc, char **argv);
int translateMain(int argc, char **argv);
int benchMain(int argc, char **argv);

} // namespace kedge::tool
