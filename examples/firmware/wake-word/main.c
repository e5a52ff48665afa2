/* Listens for a wake word, one frame a call. The model keeps the frames before in its state. All memory is 8 KB: see link.ld. */
#include "wake_word_int8.h"
#include "sound.h"
#include "semihosting.h"

_Static_assert(WAKE_STACK_BYTES + 512 <= STACK_BYTES, "the model needs a larger stack: see STACK_BYTES in the Makefile");
_Static_assert(WAKE_FORWARD_IN0_ELEMENTS == BANDS, "the model takes other frames than sound.h has");

static _Alignas(WAKE_ARENA_ALIGN) uint8_t arena[WAKE_ARENA_BYTES];

/* Hears the sound once; returns how many answers differ from the reference's, or how many words are missed. */
static int listen(void)
{
    int mistakes = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        int8_t answer;
        const wake_forward_inputs in = { .in0 = frames[frame] };
        wake_forward_outputs out = { .out0 = &answer };
        if (wake_forward(arena, &in, &out) != MODELC_OK || answer != answers[frame])
            mistakes++;
        if (answer > 0)
            print("the word\n");
        /* Above 0 the word is more likely than not. */
        mistakes += (answer > 0) != words[frame];
    }
    return mistakes;
}

int main(void)
{
    if (wake_init(arena, sizeof arena, NULL) != MODELC_OK)
        return 1;
    int mistakes = listen();
    /* The same sound again, from the initial state. */
    if (wake_reset(arena) != MODELC_OK)
        return 1;
    mistakes += listen();
    print(mistakes ? "an answer is WRONG\n" : "all answers are right\n");
    return mistakes != 0;
}
