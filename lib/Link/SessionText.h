// include/kedge/session.h and .hpp as text.
#pragma once

namespace kedge::link {

extern const char *const kSessionHeader, *const kSessionWrapper;

} // namespace kedge::link
