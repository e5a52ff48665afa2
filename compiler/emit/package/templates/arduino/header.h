/* Made by modelc @MODELC@. Do not edit.

   What modelc writes is yours, without conditions.

   Includes the header of the board's core. The core and its options come from the board's package. */
#ifndef @UPPER@_ARDUINO_H
#define @UPPER@_ARDUINO_H

/* Cortex-M4 and M7 have one architecture; a unit for binary64, or the package's own macros, tell them apart. */
#if defined(__CORTEX_M7) || defined(STM32F7xx) || defined(STM32H7xx) || defined(__IMXRT1062__)
#define @UPPER@_ON_M7 1
#elif defined(__ARM_FP) && defined(__ARM_ARCH_7EM__)
#define @UPPER@_ON_M7 ((__ARM_FP & 8) != 0)
#else
#define @UPPER@_ON_M7 0
#endif

#if 0
@each@
#elif @CONDITION@
#include "@FOLDER@/@NAME@.h"
@end@
#else
#error "the model @NAME@ is compiled for: @VARIANTS@; export it for this board, too"
#endif

#endif
