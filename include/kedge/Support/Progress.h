// What takes long tells how far it is. Nobody listens unless a tool shows it.
#pragma once
#include <functional>
#include <string>

namespace kedge {

/// `share`: of the work that is done, from 0 to 1; with 1 it has ended.
using ProgressListener = std::function<void(const std::string &what, double share)>;

void setProgressListener(ProgressListener listener);
void tellProgress(const std::string &what, double share);

/// A listener that rewrites one line of standard error, ten times a second at most, and removes it at the end; none where
/// standard error is no terminal.
void showProgressOnTerminal();

} // namespace kedge
