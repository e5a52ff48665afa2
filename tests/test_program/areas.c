/* A model with two memory areas beside the arena: what init says of configurations without them. */

#include "net.h"
#include <stdio.h>

static uint8_t memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];
static uint8_t first[NET_AREA0_BYTES + NET_ARENA_ALIGN], second[NET_AREA1_BYTES + 2 * NET_ARENA_ALIGN];

static uint8_t *aligned(uint8_t *bytes) { return bytes + (-(uintptr_t)bytes & (NET_ARENA_ALIGN - 1)); }

static int wrong;

static void expect(const char *what, int status, int expected)
{
  if (status == expected) return;
  printf("%s: %s, not %s\n", what, modelc_strerror(status), modelc_strerror(expected));
  wrong = 1;
}

int main(void)
{
  uint8_t *arena = aligned(memory);
  void *areas[2];
  modelc_config config = {0};
  config.struct_size = sizeof config;
  expect("no configuration", net_init(arena, NET_ARENA_BYTES, NULL), MODELC_E_ARENA);
  expect("no areas", net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_ARENA);
  config.n_areas = 2;
  expect("no list", net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_NULL);
  config.areas = areas;
  areas[0] = aligned(first);
  areas[1] = NULL;
  expect("an area that is NULL", net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_NULL);
  areas[1] = aligned(second) + NET_ARENA_ALIGN / 2;
  expect("a misaligned area", net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_ALIGN);
  areas[1] = aligned(second);
  config.n_areas = 1;
  expect("one area", net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_ARENA);
  config.n_areas = 2;
  expect("both areas", net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  return wrong;
}
