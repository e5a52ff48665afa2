/* An object with several CPU levels, on a processor whose best level is number LEVEL of the object, with FEATURES of those that levels need. */
#include "net.h"
#include "check.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];

/* The level that an instance uses. */
static int level(int (*init)(void *, size_t, const modelc_config *), const modelc_config *config)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  uint16_t number;
  EQUAL(init(arena, NET_ARENA_BYTES, config), MODELC_OK);
  memcpy(&number, arena + LEVEL_AT, sizeof number);
  return number;
}

int main(void)
{
  const uint64_t needed = MODELC_CPU_ARM_DOTPROD | MODELC_CPU_ARM_I8MM;
  modelc_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  EQUAL(modelc_cpu_features() & needed, FEATURES);
  EQUAL(level(net_init, NULL), LEVEL);
  EQUAL(level(net_init, &config), LEVEL);
  EQUAL(config.cpu_features, 0);
  /* What the caller says holds, even if the processor has more. */
  config.cpu_features = MODELC_CPU_ARM_IN_ORDER;
  EQUAL(level(net_init, &config), 2);
  config.cpu_features |= MODELC_CPU_ARM_DOTPROD;
  EQUAL(level(net_init, &config), 1);
  return 0;
}
