// kedge-translate: its process.
#include "tools/Mains.h"

int main(int argc, char **argv) { return kedge::tool::translateMain(argc, argv); }
