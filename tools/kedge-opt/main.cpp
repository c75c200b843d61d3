// kedge-opt: its process.
#include "tools/Launch.h"

int main(int argc, char **argv) { return kedge::tool::launch("optMain", argc, argv); }
