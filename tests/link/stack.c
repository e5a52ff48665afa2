/* The stack that init and a call take, measured on 32-bit machines. */
#define _DEFAULT_SOURCE
#include "net.h"
#include "check.h"
#include <string.h>
#include "guarded.h"
#include "painted.h"

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];

int main(void)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  static int8_t bytes[NET_FORWARD_IN0_BYTES], result[NET_FORWARD_OUT0_BYTES];
  static float floats[4];
  static int32_t count;
  net_forward_inputs in;
  net_forward_outputs out;
  in.in0 = bytes;
  in.in1 = floats;
  out.out0 = result;
  out.out1 = floats;
  out.out2 = &count;
  EQUAL(call_painted(NET_STACK_BYTES, (void (*)(void))net_init, arena, (const void *)(uintptr_t)NET_ARENA_BYTES, NULL), MODELC_OK);
  EQUAL(call_painted(NET_STACK_BYTES, (void (*)(void))net_forward, arena, &in, &out), MODELC_OK);
  EQUAL(count, 6);
  /* A bound, and no wild one: what a frame reserves it need not touch. */
  CHECK(painted_most + 64 >= NET_STACK_BYTES);
  return 0;
}
