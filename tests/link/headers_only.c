/* The headers, and what they define to be called. Compiles as C99 and as C++17 without a warning about casts. */
#include "net.h"
#include "other.h"

int8_t quantized(float value);
float real(int8_t value);

int8_t quantized(float value)
{
  return net_forward_in0_quantize(value);
}

float real(int8_t value)
{
  return other_forward_in0_dequantize(value);
}
