"""Image files of more than 8 bits that Pillow reads and does not write, byte by byte."""

import struct
import zlib

import numpy as np


def tiff(values, bits=None, photometric=1):
    """A TIFF file of unsigned grey values (height, width), in the byte order that they have; ``bits``: 12, packed."""
    order = ">" if values.dtype.byteorder == ">" else "<"
    height, width = values.shape
    data = values.tobytes() if bits is None else _packed(values, bits)
    entries = [
        (256, 4, width),
        (257, 4, height),
        (258, 3, bits or values.dtype.itemsize * 8),
        (259, 3, 1),
        (262, 3, photometric),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, height),
        (279, 4, len(data)),
        (339, 3, 1),
    ]
    data += b"\0" * (len(data) % 2)
    fields = b"".join(
        struct.pack(f"{order}HHI{'HH' if kind == 3 else 'I'}", tag, kind, 1, *((value, 0) if kind == 3 else (value,)))
        for tag, kind, value in entries
    )
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8 + len(data))
    return head + data + struct.pack(f"{order}H", len(entries)) + fields + bytes(4)


def _packed(values, bits):
    """Row by row, each filled up to whole bytes."""
    rows = ((values[..., None] >> np.arange(bits)[::-1]) & 1).astype(np.uint8).reshape(len(values), -1)
    return np.packbits(rows, axis=1).tobytes()


def png16(colours, clear):
    """A PNG file of colours of 16 bits (height, width, 3), one of which is transparent."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, _ = colours.shape
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in colours)
    parts = (
        (b"IHDR", header),
        (b"tRNS", clear.astype(">u2").tobytes()),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, data) for name, data in parts)
