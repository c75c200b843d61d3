/* The kernel of the op Smooth: rows [begin, end) of x -> y. */
#include "kedge/kernel.h"
#include <string.h>

static float from_bfloat16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* To the nearest, ties to even; averages of finite numbers are finite. */
static uint16_t to_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* Attributes are in the order of their names: decay, reverse. */
static double number(const kedge_call *call, const char *name) {
  for (size_t i = 0; i < call->attribute_count; ++i)
    if (strcmp(call->attributes[i].name, name) == 0)
      return call->attributes[i].numbers[0];
  return 0;
}

void example_smooth(const kedge_call *call, const void *const *inputs, void *const *outputs, int64_t begin,
                    int64_t end) {
  const kedge_operand *x = &call->inputs[0];
  const int64_t length = x->shape[x->rank - 1];
  const int narrow = x->type == KEDGE_BFLOAT16, reverse = number(call, "reverse") != 0;
  const float decay = (float)number(call, "decay");
  for (int64_t row = begin; row < end; ++row) {
    float average = 0;
    for (int64_t step = 0; step < length; ++step) {
      const int64_t at = row * length + (reverse ? length - 1 - step : step);
      const float value =
          narrow ? from_bfloat16(((const uint16_t *)inputs[0])[at]) : ((const float *)inputs[0])[at];
      average = decay * average + (1 - decay) * value;
      if (narrow)
        ((uint16_t *)outputs[0])[at] = to_bfloat16(average);
      else
        ((float *)outputs[0])[at] = average;
    }
  }
}
