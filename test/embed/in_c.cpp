// A host in C++ of what --emit c writes.
#include "small.h"
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  std::vector<float> pixels(small_batch * 3 * 10 * 10, 0.5f);
  std::vector<int64_t> labels(small_batch, 4711);
  small_start();
  const int refused = small_step(pixels.data(), labels.data(), nullptr);
  std::printf("label 4711: refused as input %d, after %d steps\n", refused, static_cast<int>(small_steps()));
  labels.assign(small_batch, 1);
  small_result first{}, second{};
  const int code = small_step(pixels.data(), labels.data(), &first);
  std::printf("label 1: %d, after %d steps\n", code, static_cast<int>(small_steps()));
  const std::vector<unsigned char> kept(small_arena, small_arena + small_kept);
  small_step(pixels.data(), labels.data(), &first);
  small_start();
  std::memcpy(small_arena, kept.data(), kept.size());
  small_go_on(1);
  small_step(pixels.data(), labels.data(), &second);
  std::puts(first.loss == second.loss && first.loss > 0 ? "as before the pause" : "not as before the pause");
}
