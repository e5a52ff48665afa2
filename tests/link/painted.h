/* Calls on a painted stack, which show that a call takes no more of it than the header says. */
#if defined __arm__ || (defined __riscv && __riscv_xlen == 32)
#define HAS_PAINTED_STACK 1

/* Calls a function with three arguments of registers on the stack that ends at `top`. */
int call_on(void *top, void (*function)(void), const void *a, const void *b, const void *c);

#ifdef __arm__
__asm__(".syntax unified\n.pushsection .text\n.thumb\n.global call_on\n.type call_on, %function\n.thumb_func\n"
        "call_on:\n  push {r4, lr}\n  mov r4, sp\n  mov lr, r0\n  mov ip, r1\n  mov r0, r2\n  mov r1, r3\n  ldr r2, [r4, #8]\n"
        "  mov sp, lr\n  blx ip\n  mov sp, r4\n  pop {r4, pc}\n.size call_on, . - call_on\n.popsection\n");
#else
__asm__(".pushsection .text\n.global call_on\n.type call_on, %function\n"
        "call_on:\n  addi sp, sp, -16\n  sw ra, 12(sp)\n  sw s0, 8(sp)\n  mv s0, sp\n  mv sp, a0\n  mv t0, a1\n  mv a0, a2\n"
        "  mv a1, a3\n  mv a2, a4\n  jalr t0\n  mv sp, s0\n  lw s0, 8(sp)\n  lw ra, 12(sp)\n  addi sp, sp, 16\n  ret\n"
        ".size call_on, . - call_on\n.popsection\n");
#endif

enum { PAINT = 0xa7, BEYOND_STACK = 1024, STACK_ALIGN = 16 };

/* The most that a call took. */
static size_t painted_most;

/* Calls a function that may take `most` bytes of stack. The bytes before them must stay. */
static int call_painted(size_t most, void (*function)(void), const void *a, const void *b, const void *c)
{
  static unsigned char *stack;
  static size_t room;
  size_t i, whole = (most + BEYOND_STACK + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;
  int status;
  if (whole > room) {
    stack = guarded(whole, STACK_ALIGN);
    room = whole;
  }
  memset(stack, PAINT, room);
  status = call_on(stack + room, function, a, b, c);
  for (i = 0; i < room && stack[i] == PAINT; i++)
    ;
  painted_most = room - i > painted_most ? room - i : painted_most;
  if (room - i > most) {
    fprintf(stderr, "a call takes %lu bytes of stack, and %lu are promised\n", (unsigned long)(room - i), (unsigned long)most);
    exit(1);
  }
  return status;
}
#endif
