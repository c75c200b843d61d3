#include "runtime/train/LinkedProgram.h"

int main(int argc, char **argv) { return kedge::rt::linkedMain(argc, argv, nullptr); }
