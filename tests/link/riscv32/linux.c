/* The calls of Linux that picolibc and the test programs make, for 32-bit RISC-V, which has no C library of Linux here: enough for qemu-riscv32. */
#include "pthread.h"
#include "sys/mman.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPENAT = 56, CLOSE = 57, LLSEEK = 62, READ = 63, WRITE = 64, EXIT = 93, MUNMAP = 215, MMAP = 222, MPROTECT = 226 };

static long ask(long number, long a, long b, long c, long d, long e, long f)
{
  register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e, a5 __asm__("a5") = f, a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
  return a0;
}

static long checked(long result) { return result < 0 ? -1 : result; }

/* picolibc's flags are those of Linux where the test programs use them, but for the creation and the length of files. */
int open(const char *path, int flags, ...)
{
  const int now_at = -100, creates = 0100 | 01000;
  return (int)checked(ask(OPENAT, now_at, (long)path, (flags & 3) | ((flags & 3) ? creates : 0), 0644, 0, 0));
}

int close(int file) { return (int)checked(ask(CLOSE, file, 0, 0, 0, 0, 0)); }
ssize_t read(int file, void *to, size_t bytes) { return checked(ask(READ, file, (long)to, (long)bytes, 0, 0, 0)); }
ssize_t write(int file, const void *from, size_t bytes) { return checked(ask(WRITE, file, (long)from, (long)bytes, 0, 0, 0)); }

off_t lseek(int file, off_t offset, int from)
{
  int64_t result = -1;
  long failed = ask(LLSEEK, file, (long)((int64_t)offset >> 32), (long)offset, (long)&result, from, 0);
  return (off_t)(failed ? -1 : result);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
  long result = ask(MMAP, (long)at, (long)bytes, protection, flags, file, offset);
  return result < 0 && result > -4096 ? MAP_FAILED : (void *)result;
}

int munmap(void *at, size_t bytes) { return (int)checked(ask(MUNMAP, (long)at, (long)bytes, 0, 0, 0, 0)); }
int mprotect(void *at, size_t bytes, int protection) { return (int)checked(ask(MPROTECT, (long)at, (long)bytes, protection, 0, 0, 0)); }

int pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
  (void)thread, (void)attributes, (void)start, (void)argument;
  return 1;
}

int pthread_join(pthread_t thread, void **result)
{
  (void)thread, (void)result;
  return 1;
}

/* Of the kinds there are, the test programs ask for the bytes of a page alone. */
long sysconf(int kind) { return kind == _SC_PAGESIZE ? 4096 : -1; }

void _exit(int status)
{
  for (;;) ask(EXIT, status, 0, 0, 0, 0, 0);
}

/* Memory for malloc. */
void *sbrk(ptrdiff_t bytes)
{
  static char heap[64 << 20];
  static size_t used;
  if (bytes < 0 || used + (size_t)bytes > sizeof heap) return (void *)-1;
  used += (size_t)bytes;
  return heap + used - (size_t)bytes;
}

/* Standard streams, of which the output waits for a full buffer or the end. */
static unsigned char written[4096], given[4096];
static size_t written_bytes;

static int flush(FILE *stream)
{
  size_t done = 0;
  (void)stream;
  while (done < written_bytes) {
    ssize_t some = write(1, written + done, written_bytes - done);
    if (some <= 0) return EOF;
    done += (size_t)some;
  }
  written_bytes = 0;
  return 0;
}

static int put(char byte, FILE *stream)
{
  if (written_bytes == sizeof written && flush(stream)) return EOF;
  written[written_bytes++] = (unsigned char)byte;
  return (unsigned char)byte;
}

static int complain(char byte, FILE *stream)
{
  (void)stream;
  return write(2, &byte, 1) == 1 ? (unsigned char)byte : EOF;
}

static int get(FILE *stream)
{
  static ssize_t bytes, at;
  (void)stream;
  if (at == bytes) {
    at = 0;
    bytes = read(0, given, sizeof given);
    if (bytes <= 0) {
      bytes = 0;
      return _FDEV_EOF;
    }
  }
  return given[at++];
}

static FILE input = FDEV_SETUP_STREAM(NULL, get, NULL, _FDEV_SETUP_READ);
static FILE output = FDEV_SETUP_STREAM(put, NULL, flush, _FDEV_SETUP_WRITE);
static FILE errors = FDEV_SETUP_STREAM(complain, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdin = &input;
FILE *const stdout = &output;
FILE *const stderr = &errors;

int main(int count, char **words);

__attribute__((used)) static void begin(long *stack)
{
  int status = main((int)stack[0], (char **)(stack + 1));
  flush(stdout);
  _exit(status);
}

/* The pointers that programs keep, and the stack as Linux leaves it: the number of arguments, then these. */
__attribute__((naked, used)) void _start(void)
{
  __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
                   "la tp, __tls_start\nmv a0, sp\nandi sp, sp, -16\nj begin");
}
