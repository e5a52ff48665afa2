/* What the programs of `--emit test` and `--emit bench` need on a board that QEMU emulates: lines by semihosting, ticks by SysTick. */
#include <stdint.h>

enum { SYS_WRITE0 = 0x04 };

/* In startup.S: asks the host for operation `number`. */
long semihosting_call(long number, const void *argument);

int modelc_puts(const char *line)
{
  semihosting_call(SYS_WRITE0, line);
  semihosting_call(SYS_WRITE0, "\n");
  return 0;
}

#ifdef __arm__
struct systick {
  uint32_t control, reload, current;
};

/* SysTick counts 24 bits down; the differences are summed. */
uint32_t modelc_ticks(void)
{
  volatile struct systick *const timer = (volatile struct systick *)0xe000e010;
  static uint32_t last, sum;
  uint32_t now;
  if (!(timer->control & 1)) {
    timer->reload = 0xffffff;
    timer->current = 0;
    timer->control = 5;
    last = 0;
  }
  now = timer->current;
  sum += (last - now) & 0xffffff;
  last = now;
  return sum;
}
#endif
