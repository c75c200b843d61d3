#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"

namespace kedge::driver {

/// A file that an option names is none that the command reads: the model and its data, or what another option
/// names, also where links lead there. And what options are read from is a file, not a pipe or a device.
/// Throws kedge::Error.
void checkFiles(const CompileOptions &options, const model::Model &model);

/// That files which options name can be read; told before the model is opened. Throws kedge::Error.
void checkReadable(const CompileOptions &options);

/// For --depfile: what the output was made of, as make and ninja read it. Throws kedge::Error.
void writeDepfile(const CompileOptions &options);

} // namespace kedge::driver
