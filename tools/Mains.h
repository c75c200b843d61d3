// The tools as functions of the compiler's library, by names that its file can be asked for.
#pragma once

namespace kedge::tool {
extern "C" {

int kedgeMain(int argc, char **argv);
int optMain(int argc, char **argv);
int translateMain(int argc, char **argv);
int benchMain(int argc, char **argv);
}
} // namespace kedge::tool
