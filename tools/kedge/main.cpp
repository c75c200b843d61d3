// kedge: its process.
#include "tools/Launch.h"

int main(int argc, char **argv) { return kedge::tool::launch("kedgeMain", argc, argv); }
