// Programs of one model that differ in the length of their rows alone, as one program.
#pragma once
#include "lib/Export/Program/ProgramJson.h"

namespace kedge::exporter {

/// A program that takes shorter rows than the one it joins.
struct Bucket {
  std::string length; ///< that it is called by, as "128"
  ProgramImageParts image;
};

/// Adds to the program of the longest rows what each of the others trains and evaluates with: functions named
/// "step.128", which work on the same states, scalars and results, in the same arena. Constants that differ
/// get places of their own behind the persistent region. Throws kedge::Error where states differ.
void joinBuckets(ProgramImageParts &longest, const std::vector<Bucket> &others);

} // namespace kedge::exporter
