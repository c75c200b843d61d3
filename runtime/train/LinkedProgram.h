// main() of compiled programs; each target has its own.
#pragma once
#include "runtime/train/LinkedImage.h"
#include "runtime/train/ProgramMain.h"

namespace kedge::rt {

/// Runs the linked program on `device` (null: the host).
inline int linkedMain(int argc, char **argv, DeviceFactory device) {
  return programMain(argc, argv, linkedImage(device));
}

} // namespace kedge::rt
