// From reset to main on a core of Arm's M profile.

        .syntax unified
        .thumb

// The vector table: the stack pointer, then where reset and the exceptions go.
        .section .text.start, "a"
        .globl  _start
_start:
        .word   stack_top
        .word   reset
        .rept   14
        .word   fault
        .endr

        .section .text.startup, "ax"
        .thumb_func
reset:
        // The vector table is where the program begins, which need not be where the core looks for it after reset.
        ldr     r0, =0xe000ed08                 // VTOR
        ldr     r1, =_start
        str     r1, [r0]
#ifdef __ARM_FP
        // The floating-point unit traps after reset: full access to coprocessors 10 and 11.
        ldr     r0, =0xe000ed88                 // CPACR
        ldr     r1, [r0]
        orr     r1, r1, #(0xf << 20)
        str     r1, [r0]
        dsb
        isb
#endif
        ldr     r0, =stack_top
        mov     sp, r0
        ldr     r0, =bss_start
        ldr     r1, =bss_end
        movs    r2, #0
1:      cmp     r0, r1
        bhs     2f
        str     r2, [r0]
        adds    r0, #4
        b       1b
2:
        bl      main
        // Falls through with main's status in r0.

// Ends the program: SYS_EXIT_EXTENDED with a block of reason (ADP_Stopped_ApplicationExit) and status.
exit:
        mov     r1, r0
        ldr     r0, =0x20026
        push    {r0, r1}
        movs    r0, #0x20
        mov     r1, sp
        bl      semihosting_call
1:      wfi
        b       1b

// Any exception ends the program with status 99.
        .thumb_func
fault:
        ldr     r0, =stack_top                  // whatever became of the stack
        mov     sp, r0
        movs    r0, #99
        b       exit

// long semihosting_call(long number, const void *argument)
        .globl  semihosting_call
        .thumb_func
semihosting_call:
        bkpt    #0xab
        bx      lr
