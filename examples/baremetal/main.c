/* Reads twenty handwritten digits with no operating system and no C library. What it says and the exit status go out
   through semihosting: a debugger, or qemu, prints them. */
#include "digits_int8.h"
#include "images.h"
#include "semihosting.h"

/* The linker script keeps this much for the stack; main.c and startup.S themselves need less than 1 KiB of it. */
_Static_assert(DIGITS_STACK_BYTES + 1024 <= STACK_BYTES, "the model needs a larger stack: see STACK_BYTES in the Makefile");

static _Alignas(DIGITS_ARENA_ALIGN) uint8_t arena[DIGITS_ARENA_BYTES];

static void print_number(unsigned long number)
{
    char digits[24], *next = digits + sizeof digits;
    *--next = 0;
    do
        *--next = (char)('0' + number % 10);
    while (number /= 10);
    print(next);
}

static int failed(const char *what, int status)
{
    print(what);
    print(modelc_strerror(status));
    print("\n");
    return 1;
}

/* The digit of the greatest answer. */
static int greatest(const int8_t *answer)
{
    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (answer[digit] > answer[best])
            best = digit;
    return best;
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
    int status = digits_init(arena, sizeof arena, NULL);
    if (status != MODELC_OK)
        return failed("digits_init: ", status);

    unsigned mistakes = 0;
    for (int i = 0; i < IMAGES; i++) {
        int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
        for (int p = 0; p < IMAGE_PIXELS; p++)
            pixels[p] = digits_forward_in0_quantize((float)images[i][p] / 16.0f);

        const digits_forward_inputs in = { .in0 = pixels };
        digits_forward_outputs out = { .out0 = answer };
        status = digits_forward(arena, &in, &out);
        if (status != MODELC_OK)
            return failed("digits_forward: ", status);

        int digit = greatest(answer);
        int right = digit == image_labels[i];
        int exact = same(answer, image_answers[i]);
        print("a ");
        print_number(image_labels[i]);
        print(", read as ");
        print_number((unsigned)digit);
        print(right ? "" : ": WRONG");
        print(exact ? "\n" : ": NOT THE REFERENCE'S ANSWER\n");
        mistakes += !right || !exact;
    }

    print_number(IMAGES - mistakes);
    print(" of ");
    print_number(IMAGES);
    print(" right; arena ");
    print_number(sizeof arena);
    print(" bytes\n");
    return mistakes != 0;
}
