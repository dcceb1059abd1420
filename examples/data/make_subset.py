#!/usr/bin/env python3
"""Cuts the embedded 12,000 images out of MNIST's training files.

    make_subset.py SOURCE DESTINATION

SOURCE holds train-images-idx3-ubyte and train-labels-idx1-ubyte (plain or .gz); the subset is written to DESTINATION
under the same names, gzip. The same input and zlib give the same bytes.
"""

import gzip
import hashlib
import pathlib
import struct
import sys

# The lab trains on the first 5/6 of a file and validates on the rest: of these on 10,000 and 2,000. The validation
# images are the first ones of the validation part of the whole file (images 50,000 and following).
CHOSEN = [*range(0, 10_000), *range(50_000, 52_000)]
FILES = {"train-images-idx3-ubyte": (2051, 3), "train-labels-idx1-ubyte": (2049, 1)}


def read_idx(directory, name, magic, dimensions):
    """Returns the sizes of an IDX file and its elements as bytes."""
    path = directory / name
    data = path.read_bytes() if path.exists() else gzip.decompress((directory / (name + ".gz")).read_bytes())
    header = 4 + 4 * dimensions
    found, *sizes = struct.unpack(f">{1 + dimensions}I", data[:header])
    if found != magic or sizes[0] != 60_000:
        sys.exit(f"{path}: found magic {found} and {sizes[0]} elements, expected {magic} and 60000")
    return sizes, data[header:]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, destination = map(pathlib.Path, sys.argv[1:])
    destination.mkdir(parents=True, exist_ok=True)
    for name, (magic, dimensions) in FILES.items():
        sizes, data = read_idx(source, name, magic, dimensions)
        width = len(data) // sizes[0]
        subset = struct.pack(f">{1 + dimensions}I", magic, len(CHOSEN), *sizes[1:])
        subset += b"".join(data[i * width : (i + 1) * width] for i in CHOSEN)
        packed = gzip.compress(subset, compresslevel=9, mtime=0)
        (destination / (name + ".gz")).write_bytes(packed)
        print(f"{name}.gz {len(packed)} bytes")
        print(f"  sha256 {hashlib.sha256(packed).hexdigest()}")
        print(f"  sha256 uncompressed {hashlib.sha256(subset).hexdigest()}")


if __name__ == "__main__":
    main()
