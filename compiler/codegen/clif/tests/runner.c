// Runs kernels read from standard input and writes their status and buffers to standard output, or from the first to the second of two files.
// Each buffer ends right before an inaccessible page. Numbers are little-endian, as are all machines here.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// What a parameter is: a pointer or an integer.
typedef uintptr_t word;

// Bit 0 of an address says that Thumb code is there.
#ifdef __arm__
enum { THUMB = 1 };
#else
enum { THUMB = 0 };
#endif

static const uint64_t PAGE = 65536;

static int read_number(uint64_t *number) { return fread(number, 8, 1, stdin) == 1; }

static uint8_t *map(uint64_t bytes, int protection) {
    uint8_t *memory = mmap(0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(2);
    return memory;
}

static uint64_t pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void read_bytes(uint8_t *to, uint64_t bytes) {
    if (bytes != 0 && fread(to, bytes, 1, stdin) != 1) exit(3);
}

// Kernels may rely on no rounding mode of fixed-point instructions: here it is "down".
static void spoil_modes(void) {
#if defined __riscv && __riscv_xlen == 64
    __asm__ volatile("csrwi 0x00a, 2");
#endif
}

int main(int count, char **words) {
    if (count > 2 && (freopen(words[1], "rb", stdin) == NULL || freopen(words[2], "wb", stdout) == NULL)) exit(10);
    uint64_t code_bytes;
    while (read_number(&code_bytes)) {
        if (count == 2) spoil_modes();
        uint8_t *code = map(pages(code_bytes), PROT_READ | PROT_WRITE);
        read_bytes(code, code_bytes);
        if (mprotect(code, pages(code_bytes), PROT_READ | PROT_EXEC)) exit(4);
        __builtin___clear_cache((char *)code, (char *)code + code_bytes);
        uint64_t buffers, integers, arguments[12] = {0}, size[12] = {0};
        if (!read_number(&buffers) || buffers > 12) exit(5);
        for (uint64_t i = 0; i < buffers; i++) {
            if (!read_number(&size[i])) exit(6);
            uint8_t *memory = map(pages(size[i]) + PAGE, PROT_READ | PROT_WRITE);
            if (mprotect(memory + pages(size[i]), PAGE, PROT_NONE)) exit(7);
            arguments[i] = (word)(memory + pages(size[i]) - size[i]);
            read_bytes((uint8_t *)(word)arguments[i], size[i]);
        }
        if (!read_number(&integers) || buffers + integers > 12) exit(8);
        for (uint64_t i = 0; i < integers; i++) {
            if (!read_number(&arguments[buffers + i])) exit(9);
        }
        int32_t (*kernel)(word, word, word, word, word, word, word, word, word, word, word, word) = (void *)(code + THUMB);
        uint64_t *a = arguments;
        int32_t status = kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
        fwrite(&status, 4, 1, stdout);
        for (uint64_t i = 0; i < buffers; i++) {
            fwrite((void *)(word)arguments[i], 1, size[i], stdout);
            munmap((uint8_t *)(word)arguments[i] + size[i] - pages(size[i]), pages(size[i]) + PAGE);
        }
        munmap(code, pages(code_bytes));
        fflush(stdout);
    }
    return 0;
}
