"""Writes an image of flash as a UF2 file for RP2350, and checks what its boot ROM asks for: `uf2.py program.bin program.uf2`."""

import pathlib
import struct
import sys

FLASH, RAM = 0x10000000, 0x20000000
PAYLOAD = 256
FIRST, LAST, END = 0xFFFFDED3, 0xAB123579, (0x000001FF, 0x000004FF)
# The word of a block that names the core, and the family of UF2 files for it.
FAMILIES = {0x10210142: 0xE48BFF59, 0x11010142: 0xE48BFF5A}


def check(image: bytes) -> int:
    """Checks the block of the boot ROM, the stack pointer and the first instruction. Returns the family."""
    words = struct.unpack_from("<1024I", image.ljust(4096, b"\0"))
    assert FIRST in words, "the boot ROM finds no block"
    block = words[words.index(FIRST) :]
    block = block[: block.index(LAST) + 1]
    assert block[1] in FAMILIES, f"a block for another core: {block[1]:#x}"
    if len(block) == 5:  # Arm: the vector table has both.
        assert block[2:4] == (END[0], 0) and words[1] % 2 == 1
        stack, reset = words[:2]
    else:
        assert block[2] == 0x344 and block[5:7] == (END[1], 0) and len(block) == 8 and block[3] % 2 == 0
        reset, stack = block[3:5]
    assert RAM < stack <= RAM + 520 * 1024 and stack % 8 == 0, f"the stack pointer is {stack:#x}"
    assert FLASH < reset < FLASH + len(image), f"the program starts at {reset:#x}"
    return FAMILIES[block[1]]


def uf2(image: bytes, family: int) -> bytes:
    pieces = [image[start : start + PAYLOAD].ljust(PAYLOAD, b"\0") for start in range(0, len(image), PAYLOAD)]
    blocks = bytearray()
    for number, piece in enumerate(pieces):
        head = (0x0A324655, 0x9E5D5157, 0x2000, FLASH + number * PAYLOAD, PAYLOAD, number, len(pieces), family)
        blocks += struct.pack("<8I", *head) + piece.ljust(476, b"\0") + struct.pack("<I", 0x0AB16F30)
    return bytes(blocks)


source, target = map(pathlib.Path, sys.argv[1:])
image = source.read_bytes()
target.write_bytes(uf2(image, check(image)))
print(f"{target.name}: {len(image)} B of flash")
