# From reset to main on a RISC-V hart of 64 or 32 bits in machine mode, as qemu's `virt` machine starts one.
#if __riscv_xlen == 64
#define STORE sd
#define EXIT 0x18
#else
#define STORE sw
#define EXIT 0x20
#endif
#define WORD (__riscv_xlen / 8)
        .option arch, +zicsr

        .section .text.start, "ax"
        .globl  _start
_start:
        csrr    t0, mhartid
        bnez    t0, halt                        # one hart is enough
        la      t0, fault
        csrw    mtvec, t0

        # Floating point and vectors are off after reset: mstatus.FS = Initial and .VS = Initial turn them on, the second without effect
        # where there are no vectors; fcsr = 0 means round to nearest.
#ifdef __riscv_flen
        li      t0, 1 << 13 | 1 << 9
        csrs    mstatus, t0
        csrw    fcsr, zero
#endif

        la      sp, stack_top
        la      t0, bss_start
        la      t1, bss_end
1:      bgeu    t0, t1, 2f
        STORE   zero, 0(t0)
        addi    t0, t0, WORD
        j       1b
2:
        call    main
        # Falls through with main's status in a0.

# Ends the program: SYS_EXIT, which is SYS_EXIT_EXTENDED for 32 bits, with a block of reason (ADP_Stopped_ApplicationExit) and status.
exit:
        li      t0, 0x20026
        addi    sp, sp, -16
        STORE   t0, 0(sp)
        STORE   a0, WORD(sp)
        li      a0, EXIT
        mv      a1, sp
        call    semihosting_call
halt:
        wfi
        j       halt

# Any trap ends the program with status 99. mtvec wants its address on four bytes.
        .balign 4
fault:
        la      sp, stack_top                   # whatever became of the stack
        li      a0, 99
        j       exit

# long semihosting_call(long number, const void *argument)
# The host knows the call by these three instructions, none of them compressed, all on one page.
        .globl  semihosting_call
        .balign 16
        .option push
        .option norvc
semihosting_call:
        slli    zero, zero, 0x1f
        ebreak
        srai    zero, zero, 0x7
        ret
        .option pop
