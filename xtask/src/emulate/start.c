/* What a C program needs without an operating system: where it begins, where it prints, and the functions of memory that compilers
   call. */
#include "emulated.h"

extern unsigned char __bss_start[], _end[];

static void port(unsigned short number, unsigned char byte)
{
  __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(number));
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
  void *result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return result;
}

void *memset(void *to, int byte, size_t bytes)
{
  void *result = to;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
  return result;
}

void *memmove(void *to, const void *from, size_t bytes)
{
  unsigned char *target = to;
  const unsigned char *source = from;
  if ((uintptr_t)to - (uintptr_t)from >= bytes) {
    return memcpy(to, from, bytes);
  }
  while (bytes-- > 0) {
    target[bytes] = source[bytes];
  }
  return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < bytes; i++) {
    if (x[i] != y[i]) {
      return x[i] < y[i] ? -1 : 1;
    }
  }
  return 0;
}

void print(const char *text)
{
  for (; *text; text++) {
    port(0xE9, (unsigned char)*text);
  }
}

void print_number(long long number)
{
  char digits[24];
  int at = sizeof digits - 1;
  unsigned long long rest = number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (number < 0) {
    digits[--at] = '-';
  }
  print(digits + at);
}

__attribute__((section(".text.start"))) void start(void)
{
  memset(__bss_start, 0, (size_t)(_end - __bss_start));
  int status = main();
  print("\nended with ");
  print_number(status);
  print("\n");
}
