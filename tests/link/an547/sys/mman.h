/* What programs of the board call of Linux's header. The memory protection unit allows only the program's own memory and what is mapped, so an access
   behind the end of a mapping, or to its protected end, stops the program. */
#ifndef SYS_MMAN_H
#define SYS_MMAN_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32 };
#define MAP_FAILED ((void *)-1)

/* Regions of the unit: code, the memory of newlib.ld before the mappings, and the mappings. */
enum { CODE, OWN, FIRST_MAPPING, REGIONS = 16 };
static const uintptr_t MAPPINGS = 0x78000000, MAPPINGS_END = 0x80000000;

typedef struct {
  uintptr_t start, end;
} mapping;
static mapping mappings[REGIONS];

/* Registers of the unit. */
enum { CONTROL = 1, NUMBER, START, END, ATTRIBUTES = 12, ENABLED = 1 };
static volatile uint32_t *const unit = (volatile uint32_t *)0xe000ed90;

/* Allows a region up to its end. Mappings are read, written and executed. */
static inline void allow(uint32_t number, mapping region)
{
  enum { ANY = 1 << 1, READ_ONLY = 2 << 1 };
  unit[NUMBER] = number;
  unit[START] = (uint32_t)region.start | (number == CODE ? ANY | READ_ONLY : ANY);
  unit[END] = region.start == region.end ? 0 : (((uint32_t)region.end - 1) & ~31u) | ENABLED;
  __asm__ volatile("dsb\n isb" ::: "memory");
}

static inline void enable(void)
{
  allow(CODE, (mapping){0x10000000, 0x11200000});
  allow(OWN, (mapping){0x70000000, MAPPINGS});
  unit[ATTRIBUTES] = 0xff; /* Normal memory. */
  unit[CONTROL] = ENABLED;
  __asm__ volatile("dsb\n isb" ::: "memory");
}

static inline void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
  static uintptr_t next;
  int number = FIRST_MAPPING, others = 0;
  (void)at, (void)protection, (void)flags, (void)file, (void)offset;
  for (int i = FIRST_MAPPING; i < REGIONS; i++) others |= mappings[i].end != 0;
  if (!others) next = MAPPINGS;
  while (number < REGIONS && mappings[number].end != 0) number++;
  if (number == REGIONS || bytes > MAPPINGS_END - next) return MAP_FAILED;
  if (unit[CONTROL] == 0) enable();
  mappings[number] = (mapping){next, next + bytes};
  allow((uint32_t)number, mappings[number]);
  next += bytes;
  return memset((void *)mappings[number].start, 0, bytes);
}

/* Protects a mapping from an address on, for `PROT_NONE`. */
static inline int mprotect(void *at, size_t bytes, int protection)
{
  (void)bytes;
  for (int i = FIRST_MAPPING; i < REGIONS && protection == PROT_NONE; i++)
    if (mappings[i].start <= (uintptr_t)at && (uintptr_t)at < mappings[i].end) {
      mappings[i].end = (uintptr_t)at;
      allow((uint32_t)i, mappings[i]);
    }
  return 0;
}

static inline int munmap(void *at, size_t bytes)
{
  (void)bytes;
  for (int i = FIRST_MAPPING; i < REGIONS; i++)
    if (mappings[i].start == (uintptr_t)at) {
      mappings[i] = (mapping){0, 0};
      allow((uint32_t)i, mappings[i]);
    }
  return 0;
}
#endif
