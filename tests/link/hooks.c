/* The profiler's callback: every kernel, in order, before and after; a non-zero answer stops the call. */
#include "net.h"
#include "check.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];
static uint32_t seen[64], phases[64];
static int calls, stop_at = -1;

static int on_kernel(void *user, uint32_t kernel, uint32_t phase)
{
  CHECK(user == (void *)&calls);
  seen[calls] = kernel;
  phases[calls] = phase;
  return calls++ == stop_at ? 1 : 0;
}

int main(void)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  modelc_config config;
  int8_t bytes[NET_FORWARD_IN0_BYTES] = { 0 }, result[NET_FORWARD_OUT0_BYTES];
  float floats[3] = { 1, 2, 3 }, doubled[3];
  int32_t count;
  int i;
  net_forward_inputs in;
  net_forward_outputs out;
  in.in0 = bytes;
  in.in1 = floats;
  out.out0 = result;
  out.out1 = doubled;
  out.out2 = &count;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.on_kernel = on_kernel;
  config.user = &calls;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  EQUAL(net_forward(arena, &in, &out), MODELC_OK);
#ifdef WITHOUT_HOOKS
  EQUAL(calls, 0);
  (void)i;
#else
  EQUAL(calls, 2 * FORWARD_KERNELS);
  for (i = 0; i < calls; i++) {
    EQUAL(seen[i], i / 2);
    EQUAL(phases[i], i % 2);
  }
  calls = 0;
  stop_at = 3;
  EQUAL(net_forward(arena, &in, &out), MODELC_E_ABORTED);
  EQUAL(calls, 4);
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK); /* nobody listens */
  EQUAL(net_forward(arena, &in, &out), MODELC_OK);
  EQUAL(calls, 4);
#endif
  return 0;
}
