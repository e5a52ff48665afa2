/* Reads a word at a multiple of four bytes, or, with an argument, beside it. */
#include <stdint.h>

uint32_t read_word(const unsigned char *place);

__attribute__((noinline)) uint32_t read_word(const unsigned char *place)
{
  uint32_t word;
#ifdef __arm__
  __asm__ volatile("ldr %0, [%1]" : "=r"(word) : "r"(place) : "memory");
#else
  __asm__ volatile("lw %0, 0(%1)" : "=r"(word) : "r"(place) : "memory");
#endif
  return word;
}

static union { uint32_t words[2]; unsigned char bytes[8]; } data;

int main(int argc, char **argv)
{
  (void)argv;
  return (int)read_word(data.bytes + (argc > 1 ? 2 : 0));
}
