// Weights of the loss, out of files.
#pragma once
#include <string>

namespace kedge::driver {

/// The numbers of a .npy file of one dimension as text, joined by /; "" of no file. Throws kedge::Error that
/// names the option and the file for what cannot weigh a loss.
std::string lossWeights(const char *option, const std::string &file);

} // namespace kedge::driver
