/* Two models in one file, each refusing the other's state. Compiles as C99 and as C++17. */
#include "net.h"
#include "other.h"
#include "net.h"
#include "check.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
static unsigned char memory[LARGER(NET_ARENA_BYTES, OTHER_ARENA_BYTES) + 2 * NET_ARENA_ALIGN];

int main(void)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  int32_t ticks = 0;
  net_tick_outputs net;
  other_tick_outputs other;
  net.out0 = other.out0 = &ticks;
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
  EQUAL(other_tick(arena, NULL, &other), MODELC_E_STATE);
  EQUAL(net_tick(arena, NULL, &net), MODELC_OK);
  EQUAL(ticks, 6);
  EQUAL(other_init(arena, OTHER_ARENA_BYTES, NULL), MODELC_OK);
  EQUAL(net_tick(arena, NULL, &net), MODELC_E_STATE);
  EQUAL(other_tick(arena, NULL, &other), MODELC_OK);
  EQUAL(ticks, 6);
  EQUAL(other_tick(arena, NULL, &other), MODELC_OK);
  EQUAL(ticks, 7);
  return 0;
}
