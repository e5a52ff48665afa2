/* Adds 0 to the smallest number of binary32, in a vector register and in a register of its own. Returns 0 if only the vector loses it. */
#include <stdint.h>

static volatile uint32_t smallest[4] = {1, 1, 1, 1}, sums[4];

int main(void)
{
  uint32_t single;
  __asm__ volatile("vldrw.u32 q0, [%0]\n\t"
                   "vmov.i32 q1, #0\n\t"
                   "vadd.f32 q2, q0, q1\n\t"
                   "vstrw.32 q2, [%1]"
                   :
                   : "r"(smallest), "r"(sums)
                   : "q0", "q1", "q2", "memory");
  __asm__ volatile("vmov s0, %1\n\t"
                   "vmov s1, %2\n\t"
                   "vadd.f32 s2, s0, s1\n\t"
                   "vmov %0, s2"
                   : "=r"(single)
                   : "r"(1), "r"(0)
                   : "s0", "s1", "s2");
  return sums[0] == 0 && single == 1 ? 0 : 1;
}
