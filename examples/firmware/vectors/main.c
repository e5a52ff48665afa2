/* Reads twenty handwritten digits with the vectors of Cortex-M55, while an interrupt uses vector registers of its own. The core saves those that a
   function may change, and the compiler of the handler saves the others. */
#include "digits_int8.h"
#include "images.h"
#include "semihosting.h"

_Static_assert(DIGITS_STACK_BYTES + 1024 <= STACK_BYTES, "the model needs a larger stack: see STACK_BYTES in the Makefile");

static _Alignas(DIGITS_ARENA_ALIGN) uint8_t arena[DIGITS_ARENA_BYTES];

enum { EXCEPTIONS = 16, SYSTICK = 15, PERIOD = 1000 };

/* In startup.S: the vector table, whose handlers end the program. */
extern const uint32_t _start[EXCEPTIONS];
static _Alignas(128) uint32_t vectors[EXCEPTIONS];

#define VTOR (*(volatile uint32_t *)0xe000ed08)
static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;

static volatile uint32_t interrupts;

static void tick(void)
{
    __asm volatile("vmov.i32 q0, #255\n vmov.i32 q3, #255\n vmov.i32 q4, #255\n vmov.i32 q7, #255"
                   ::: "s0", "s1", "s2", "s3", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s28", "s29", "s30", "s31");
    interrupts++;
}

static void start_timer(void)
{
    for (int i = 0; i < EXCEPTIONS; i++)
        vectors[i] = _start[i];
    vectors[SYSTICK] = (uint32_t)(uintptr_t)tick;
    VTOR = (uint32_t)(uintptr_t)vectors;
    timer[1] = PERIOD - 1;
    timer[2] = 0;
    timer[0] = 7; /* the core's clock, with interrupts */
}

static int same(const int8_t *a, const int8_t *b)
{
    for (int i = 0; i < DIGITS; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

int main(void)
{
    start_timer();
    if (digits_init(arena, sizeof arena, NULL) != MODELC_OK) {
        print("digits_init failed\n");
        return 1;
    }
    int mistakes = 0;
    for (int i = 0; i < IMAGES; i++) {
        static int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
        for (int p = 0; p < IMAGE_PIXELS; p++)
            pixels[p] = digits_forward_in0_quantize((float)images[i][p] / 16.0f);
        const digits_forward_inputs in = { .in0 = pixels };
        digits_forward_outputs out = { .out0 = answer };
        mistakes += digits_forward(arena, &in, &out) != MODELC_OK || !same(answer, image_answers[i]);
    }
    print(mistakes == 0 ? "20 of 20 have the reference's answer" : "WRONG answers");
    print(interrupts > 0 ? ", interrupted\n" : ", NOT interrupted\n");
    return mistakes != 0 || interrupts == 0;
}
