/* A model with a custom operator, which this program computes; and one that fails. */
#include "net.h"
#include "check.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];
static int failure, called;

int app_scale(void *user, const modelc_tensor *in, uint32_t n_in, modelc_tensor *out, uint32_t n_out, const void *options,
              size_t options_bytes)
{
  const float *x = (const float *)in[0].data;
  const int8_t *q = (const int8_t *)in[1].data;
  float *y = (float *)out[0].data;
  const unsigned char *bytes = (const unsigned char *)options;
  size_t i;
  CHECK(user == &failure);
  EQUAL(n_in, 2);
  EQUAL(n_out, 2);
  EQUAL(options_bytes, 3);
  CHECK(bytes[0] == 3 && bytes[1] == 4 && bytes[2] == 5);
  CHECK(in[0].type == MODELC_F32 && in[0].rank == 2 && in[0].shape[0] == 2 && in[0].shape[1] == 3 && in[0].bytes == 24);
  CHECK(in[0].scale == 0.0f && in[1].scale == 0.5f && in[1].zero_point == -7);
  CHECK(in[1].type == MODELC_I8 && in[1].rank == 1 && in[1].shape[0] == 2 && in[1].bytes == 2);
  CHECK(out[0].type == MODELC_F32 && out[0].bytes == 24);
  CHECK(out[1].type == MODELC_I32 && out[1].rank == 0 && out[1].shape == NULL && out[1].bytes == 4);
  called++;
  for (i = 0; i < 6; i++) y[i] = x[i] * (float)bytes[0] + (float)q[0];
  *(int32_t *)out[1].data = called;
  return failure;
}

int main(void)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  const float x[6] = { 0, 1, 2, 3, 4, 5 };
  const int8_t q[2] = { 1, 2 };
  float y[6];
  int32_t n = 0;
  net_forward_inputs in;
  net_forward_outputs out;
  modelc_config config;
  int i;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.user = &failure;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  in.in0 = x;
  in.in1 = q;
  out.out0 = y;
  out.out1 = &n;
  EQUAL(net_forward(arena, &in, &out), MODELC_OK);
  for (i = 0; i < 6; i++) CHECK(y[i] == -(6.0f * (float)i + 1.0f));
  EQUAL(n, 1);
  failure = 5;
  EQUAL(net_forward(arena, &in, &out), MODELC_E_CUSTOM);
  EQUAL(called, 2);
  return 0;
}
