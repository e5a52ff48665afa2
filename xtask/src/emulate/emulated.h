/* For programs that `cargo xtask emulate` runs. */
#include <stddef.h>
#include <stdint.h>

/* The file that was named with --data, and its bytes; none if there was no such file. */
#define DATA_BYTES (*(const uint64_t *)0x10000000)
#define DATA ((const unsigned char *)0x10000040)

int main(void);
void print(const char *text);
void print_number(long long number);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
