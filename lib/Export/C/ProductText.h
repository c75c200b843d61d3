// Parts of the text of a program in C: the multiply-add, vectors, sums of products by panels, matrix
// products.
#pragma once

namespace kedge::exporter {

extern const char fmaText[], lanesText[], sumsText[], matmulText[];

} // namespace kedge::exporter
