// Jinja's language, as far as chat templates use it.
#pragma once
#include "driver/chat/TemplateNodes.h"

namespace kedge::driver {

/// Throws an error with the line, which names what is not available.
TemplateBody parseTemplate(const std::string &source);

/// Whether these are known.
bool isTemplateFilter(std::string_view name);
bool isTemplateTest(std::string_view name);

} // namespace kedge::driver
