/* Copies a section from flash before the test, as start-up code does. SECTION is its name in the linker script. */
#include <stdint.h>

#define JOINED(a, b) a##b
#define SYMBOL(section, end) JOINED(section, end)

extern uint32_t SYMBOL(SECTION, _start)[], SYMBOL(SECTION, _end)[];
extern const uint32_t SYMBOL(SECTION, _load)[];

int test_main(void);

int main(void)
{
  const uint32_t *from = SYMBOL(SECTION, _load);
  for (uint32_t *to = SYMBOL(SECTION, _start); to < SYMBOL(SECTION, _end); ++to) *to = *from++;
#ifdef __riscv
  __asm__ volatile(".option push\n\t.option arch, +zifencei\n\tfence.i\n\t.option pop" ::: "memory");
#endif
  return test_main();
}
