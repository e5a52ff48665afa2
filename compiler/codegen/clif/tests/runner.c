// Runs kernels read from standard input and writes their status and buffers to standard output.
// Each buffer ends right before an inaccessible page. Numbers are little-endian, as are all machines here.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
#ifdef __riscv
    __asm__ volatile("csrwi 0x00a, 2");
#endif
}

int main(int count, char **words) {
    (void)words;
    uint64_t code_bytes;
    while (read_number(&code_bytes)) {
        if (count > 1) spoil_modes();
        uint8_t *code = map(pages(code_bytes), PROT_READ | PROT_WRITE);
        read_bytes(code, code_bytes);
        if (mprotect(code, pages(code_bytes), PROT_READ | PROT_EXEC)) exit(4);
        __builtin___clear_cache((char *)code, (char *)code + code_bytes);
        uint64_t buffers, integers, arguments[8] = {0}, size[8] = {0};
        if (!read_number(&buffers) || buffers > 6) exit(5);
        for (uint64_t i = 0; i < buffers; i++) {
            if (!read_number(&size[i])) exit(6);
            uint8_t *memory = map(pages(size[i]) + PAGE, PROT_READ | PROT_WRITE);
            if (mprotect(memory + pages(size[i]), PAGE, PROT_NONE)) exit(7);
            arguments[i] = (uint64_t)(memory + pages(size[i]) - size[i]);
            read_bytes((uint8_t *)arguments[i], size[i]);
        }
        if (!read_number(&integers) || buffers + integers > 6) exit(8);
        for (uint64_t i = 0; i < integers; i++) {
            if (!read_number(&arguments[buffers + i])) exit(9);
        }
        int32_t (*kernel)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = (void *)code;
        int32_t status = kernel(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
        fwrite(&status, 4, 1, stdout);
        for (uint64_t i = 0; i < buffers; i++) {
            fwrite((void *)arguments[i], 1, size[i], stdout);
            munmap((uint8_t *)arguments[i] + size[i] - pages(size[i]), pages(size[i]) + PAGE);
        }
        munmap(code, pages(code_bytes));
        fflush(stdout);
    }
    return 0;
}
