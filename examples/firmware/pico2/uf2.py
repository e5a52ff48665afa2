"""Writes an image of flash as a UF2 file for RP2350, and checks what its boot ROM asks for: `uf2.py program.bin program.uf2`."""

import pathlib
import struct
import sys

FLASH, RAM = 0x10000000, 0x20000000
BLOCK = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)
FAMILY = 0xE48BFF59  # RP2350, Arm, secure
PAYLOAD = 256


def check(image: bytes) -> None:
    stack, reset = struct.unpack_from("<2I", image)
    assert RAM < stack <= RAM + 520 * 1024 and stack % 8 == 0, f"the stack pointer is {stack:#x}"
    assert reset % 2 == 1 and FLASH < reset < FLASH + len(image), f"the reset vector is {reset:#x}"
    place = image.find(BLOCK)
    assert 0 <= place < 4096 - len(BLOCK) and place % 4 == 0, "the boot ROM finds no block"


def uf2(image: bytes) -> bytes:
    pieces = [image[start : start + PAYLOAD].ljust(PAYLOAD, b"\0") for start in range(0, len(image), PAYLOAD)]
    blocks = bytearray()
    for number, piece in enumerate(pieces):
        head = (0x0A324655, 0x9E5D5157, 0x2000, FLASH + number * PAYLOAD, PAYLOAD, number, len(pieces), FAMILY)
        blocks += struct.pack("<8I", *head) + piece.ljust(476, b"\0") + struct.pack("<I", 0x0AB16F30)
    return bytes(blocks)


source, target = map(pathlib.Path, sys.argv[1:])
image = source.read_bytes()
check(image)
target.write_bytes(uf2(image))
print(f"{target.name}: {len(image)} B of flash")
