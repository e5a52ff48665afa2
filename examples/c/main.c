/* Reads twenty handwritten digits with the object that modelc made of digits_int8.tflite.
   Returns 0 if every one is read rightly, and exactly as TFLite's reference kernels read it. */
#include <stdio.h>
#include <string.h>

#include "digits_int8.h"
#include "images.h"

/* All memory the model works in. C99 has no word for alignment, so there is room to round up. */
static uint8_t memory[DIGITS_ARENA_BYTES + DIGITS_ARENA_ALIGN - 1];

/* The digit of the greatest answer. */
static int greatest(const int8_t *answer)
{
    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (answer[digit] > answer[best])
            best = digit;
    return best;
}

int main(void)
{
    void *arena = memory + (-(uintptr_t)memory & (DIGITS_ARENA_ALIGN - 1));
    int status = digits_init(arena, DIGITS_ARENA_BYTES, NULL);
    if (status != MODELC_OK) {
        fprintf(stderr, "digits_init: %s\n", modelc_strerror(status));
        return 1;
    }

    int mistakes = 0;
    for (int i = 0; i < IMAGES; i++) {
        int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
        for (int p = 0; p < IMAGE_PIXELS; p++)
            pixels[p] = digits_forward_in0_quantize((float)images[i][p] / 16.0f);

        digits_forward_inputs in;
        digits_forward_outputs out;
        in.in0 = pixels;
        out.out0 = answer;
        status = digits_forward(arena, &in, &out);
        if (status != MODELC_OK) {
            fprintf(stderr, "digits_forward: %s\n", modelc_strerror(status));
            return 1;
        }

        int digit = greatest(answer);
        int right = digit == image_labels[i];
        int exact = memcmp(answer, image_answers[i], sizeof answer) == 0;
        printf("a %d, read as %d with probability %.2f%s%s\n", image_labels[i], digit,
               (double)digits_forward_out0_dequantize(answer[digit]), right ? "" : ": WRONG",
               exact ? "" : ": NOT THE REFERENCE'S ANSWER");
        mistakes += !right || !exact;
    }
    digits_deinit(arena);

    printf("%d of %d right; arena %lu bytes\n", IMAGES - mistakes, IMAGES, (unsigned long)DIGITS_ARENA_BYTES);
    return mistakes != 0;
}
