/* What programs that are counted share. */
#include <stddef.h>
#include <stdint.h>

#ifdef BOARD
/* Nothing prints: the status of main is that of the program. */
#define CHECK(call)           \
  do {                        \
    if ((call) != 0) return 1; \
  } while (0)
#else
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                    \
  do {                                                 \
    int status = (call);                               \
    if (status != 0) {                                 \
      fprintf(stderr, "%s gives %d\n", #call, status); \
      exit(1);                                         \
    }                                                  \
  } while (0)

#endif

/* Counting begins at the first mark and ends at the second: see plugin.c. */
#ifdef __thumb__
#define MARK() __asm__ volatile(".inst.w 0xf3af8032" ::: "memory")
#elif defined __riscv
#define MARK() __asm__ volatile(".4byte 0x03200013" ::: "memory")
#else
#define MARK() __asm__ volatile("hint #50" ::: "memory")
#endif

/* Fills memory with made-up numbers: floats between -1 and 1, or any bytes. */
static void fill(void *memory, size_t bytes, int floats)
{
  static uint32_t state = 1;
  for (size_t i = 0; i < (floats ? bytes / 4 : bytes); i++) {
    state = state * 1664525u + 1013904223u;
    if (floats)
      ((float *)memory)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    else
      ((unsigned char *)memory)[i] = (unsigned char)(state >> 24);
  }
}
