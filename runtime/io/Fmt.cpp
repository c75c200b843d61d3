// libfmt's own code, compiled here once: programs are linked without libfmt, which few machines have, and
// compiling it into every file (FMT_HEADER_ONLY) takes longer than most files themselves.
#include <fmt/format-inl.h>

template fmt::detail::thousands_sep_result<char>
    fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
