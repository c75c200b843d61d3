// Functions in C11 that calls of convolutions become calls of; they need the sums of products of HelperText.
#pragma once

namespace kedge::exporter {

extern const char convText[];        ///< shapes and places; the two others need it
extern const char convPlacesText[];  ///< results, and gradients of images
extern const char convFiltersText[]; ///< gradients of filters

} // namespace kedge::exporter
