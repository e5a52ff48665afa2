# The first sector of the emulated computer's disk: reads what the disk holds into memory and calls the program in 64-bit mode, with
# all vector registers switched on. (Bochs can put files into memory itself, but those of more than one of its blocks do not arrive
# whole.)

.set PROGRAM, 0x1000000
.set STACK, PROGRAM - 64
.set PAGE_TABLES, 0x8000
# Sectors that one command reads.
.set RUN, 128

.code16
.globl _start
_start:
        cli
        xorw    %ax, %ax
        movw    %ax, %ds
        movw    %ax, %es
        # Address line 20, without which every other mebibyte of memory is out of reach.
        inb     $0x92, %al
        orb     $2, %al
        outb    %al, $0x92
        # The first four gibibytes where they are, in pages of one gibibyte.
        cld
        movw    $PAGE_TABLES, %di
        movw    $0x800, %cx
        xorl    %eax, %eax
        rep stosl
        movl    $PAGE_TABLES + 0x1003, PAGE_TABLES
        movw    $PAGE_TABLES + 0x1000, %di
        movl    $0x83, %eax
1:      movl    %eax, (%di)
        addw    $8, %di
        addl    $0x40000000, %eax
        jnc     1b
        movl    $PAGE_TABLES, %eax
        movl    %eax, %cr3
        # CR4: physical address extension.
        movl    $0x20, %eax
        movl    %eax, %cr4
        # EFER: long mode.
        movl    $0xC0000080, %ecx
        rdmsr
        orl     $0x100, %eax
        wrmsr
        lgdt    table
        # CR0: paging, protection, and the unit for floating point there.
        movl    $0x80000013, %eax
        movl    %eax, %cr0
        ljmpl   $0x10, $long_mode

.code64
long_mode:
        movw    $0x18, %ax
        movw    %ax, %ds
        movw    %ax, %es
        movw    %ax, %ss
        movl    $extents, %ebx
        movl    $1, %ebp
extent: movl    (%rbx), %edi
        movl    4(%rbx), %esi
        addl    $8, %ebx
        testl   %esi, %esi
        jz      enter
        # One run of sectors from the number in ebp on.
run:    movw    $0x1F7, %dx
1:      inb     %dx, %al
        testb   $0x80, %al
        jnz     1b
        movw    $0x1F2, %dx
        movb    $RUN, %al
        outb    %al, %dx
        movl    %ebp, %eax
        incw    %dx
        outb    %al, %dx
        shrl    $8, %eax
        incw    %dx
        outb    %al, %dx
        shrl    $8, %eax
        incw    %dx
        outb    %al, %dx
        movb    %ah, %al
        orb     $0xE0, %al
        incw    %dx
        outb    %al, %dx
        movb    $0x20, %al
        incw    %dx
        outb    %al, %dx
        movl    $RUN, %r8d
2:      movw    $0x1F7, %dx
        inb     %dx, %al
        andb    $0x88, %al
        cmpb    $0x08, %al
        jne     2b
        movw    $0x1F0, %dx
        movl    $256, %ecx
        rep insw
        decl    %r8d
        jnz     2b
        addl    $RUN, %ebp
        decl    %esi
        jnz     run
        jmp     extent

        # XCR0: all vector and mask registers. The control registers allow it from here on.
enter:  movl    $0x40620, %eax
        movq    %rax, %cr4
        xorl    %ecx, %ecx
        xorl    %edx, %edx
        movl    $0xE7, %eax
        xsetbv
        movl    $STACK, %esp
        movl    $PROGRAM, %eax
        call    *%rax
        # The program has ended: Bochs too, by its own port.
        movl    $shutdown, %esi
        movw    $0x8900, %dx
        movl    $8, %ecx
        rep outsb
1:      hlt
        jmp     1b
shutdown: .ascii "Shutdown"

.align 8
descriptors:
        .quad   0
        .quad   0
        .quad   0x00AF9A000000FFFF      # 0x10: 64-bit code
        .quad   0x00CF92000000FFFF      # 0x18: data
table:
        .word   table - descriptors - 1
        .long   descriptors

# Address and runs of each part of the disk, ended by one without runs: see `memory.rs`.
.org 478
extents:
        .fill   32, 1, 0
        .word   0xAA55
