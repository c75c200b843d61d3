// main() of compiled programs, for each target's own.
#pragma once
#include "runtime/train/LinkedImage.h"
#include "runtime/train/ProgramMain.h"

namespace kedge::rt {

/// The program that is linked here, on `device` (null: the host).
inline int linkedMain(int argc, char **argv, DeviceFactory device) { return programMain(argc, argv, linkedImage(device)); }

} // namespace kedge::rt
