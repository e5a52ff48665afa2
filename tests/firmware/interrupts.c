/* Interrupts the test every 500 instructions or so. The handler overwrites every register that a handler may: also those of floats, and their
   rounding mode. */
#include <stdint.h>

int modelc_puts(const char *line);
int test_main(void);

struct systick {
  uint32_t control, reload, current;
};

static struct systick volatile *const timer = (struct systick volatile *)0xe000e010;
static volatile uint32_t ticks;

void tick(void)
{
  ticks++;
  __asm__ volatile(
    "mvn r0, #0\n"
    "mov r1, r0\n"
    "mov r2, r0\n"
    "mov r3, r0\n"
    "mov r12, r0\n"
    "msr apsr_nzcvq, r0\n"
#ifdef __ARM_FP
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "vmov s\\n, r0\n"
    ".endr\n"
    "mov r0, #0xc00000\n" /* towards zero */
    "vmsr fpscr, r0\n"
#endif
    ::: "r0", "r1", "r2", "r3", "r12", "cc", "memory");
}

int main(void)
{
  int status;
  timer->reload = TICKS;
  timer->current = 0;
  timer->control = 7;
  status = test_main();
  timer->control = 0;
  if (ticks < 100) {
    modelc_puts("hardly any interrupt");
    return 1;
  }
  return status;
}
