/* Start-up code and system calls for programs with newlib on an emulated board: files and the command line are those of this computer (semihosting). */
#define _DEFAULT_SOURCE
#include "pthread.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN = 1, CLOSE = 2, WRITE = 5, READ = 6, SEEK = 10, LENGTH = 12, COMMAND_LINE = 21, EXIT = 32 };

extern char bss_start[], bss_end[], stack_top[], end[];
int main(int argc, char **argv);
void start(void);
void fault(void);
void _fini(void);

/* The stack pointer, then where reset and the exceptions go. */
__attribute__((section(".vectors"), used)) static const struct {
  char *stack;
  void (*handlers[15])(void);
} vectors = {stack_top,
             {start, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault}};

static long ask(long number, const void *block)
{
  register long r0 __asm__("r0") = number;
  register const void *r1 __asm__("r1") = block;
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void _exit(int status)
{
  const long application_exit = 0x20026, block[] = {application_exit, status};
  for (;;) ask(EXIT, block);
}

/* No destructor is called at the end. */
void _fini(void) {}

/* Any exception ends the program. */
void fault(void) { _exit(99); }

void start(void)
{
  static char line[4096], *arguments[16];
  long block[] = {(long)line, sizeof line};
  int count = 0;
  /* Full access to coprocessors 10 and 11: floats and vectors. */
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;
  __asm__ volatile("dsb\n isb" ::: "memory");
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  ask(COMMAND_LINE, block);
  for (char *word = strtok(line, " "); word != NULL && count < 15; word = strtok(NULL, " ")) arguments[count++] = word;
  exit(main(count, arguments));
}

/* Standard streams are 0 to 2, and other files are behind these. Modes are those of fopen: rb is 1 and wb is 5. */
enum { FIRST = 3 };

int _open(const char *path, int flags, ...)
{
  long block[] = {(long)path, (flags & 3) ? 5 : 1, (long)strlen(path)};
  long file = ask(OPEN, block);
  return file < 0 ? -1 : (int)file + FIRST;
}

/* The console's streams are a file of the emulator, opened to write. */
static long console(void)
{
  static long opened;
  if (opened == 0) {
    long block[] = {(long)":tt", 8, 3};
    opened = ask(OPEN, block);
  }
  return opened;
}

int _close(int file)
{
  long block[] = {file - FIRST};
  return file < FIRST ? 0 : (int)ask(CLOSE, block);
}

int _read(int file, char *to, int bytes)
{
  long block[] = {file - FIRST, (long)to, bytes};
  return bytes - (int)ask(READ, block);
}

int _write(int file, char *from, int bytes)
{
  long block[] = {file < FIRST ? console() : file - FIRST, (long)from, bytes};
  return bytes - (int)ask(WRITE, block);
}

int _lseek(int file, int offset, int from)
{
  long length[] = {file - FIRST}, block[] = {file - FIRST, offset + (from == SEEK_END ? ask(LENGTH, length) : 0)};
  return from == SEEK_CUR || ask(SEEK, block) != 0 ? -1 : (int)block[1];
}

int _fstat(int file, struct stat *about)
{
  memset(about, 0, sizeof *about);
  about->st_mode = file < FIRST ? S_IFCHR : S_IFREG;
  return 0;
}

int _isatty(int file) { return file < FIRST; }
int _getpid(void) { return 1; }
int _kill(int process, int signal) { return (void)process, (void)signal, -1; }

void *_sbrk(ptrdiff_t bytes)
{
  static char *next = end;
  char *made = next;
  if (made + bytes > end + (128 << 20)) {
    errno = ENOMEM;
    return (void *)-1;
  }
  next += bytes;
  return made;
}

int pthread_create(pthread_t *thread, const void *attributes, void *(*function)(void *), void *argument)
{
  (void)thread, (void)attributes, (void)function, (void)argument;
  return 1;
}

int pthread_join(pthread_t thread, void **result)
{
  (void)thread, (void)result;
  return 1;
}
