"""Writes scikit-learn's digits, 1,797 images of 8 x 8 grey values, as training files of MNIST's format: a data set that
no policy here was trained on. Needs scikit-learn.

usage: digits_as_idx.py DIR

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49; its test set, as scikit-learn ships it.
"""

import gzip
import pathlib
import struct
import sys

from sklearn.datasets import load_digits


def write(path, magic, values):
    header = struct.pack(f">{1 + values.ndim}i", magic, *values.shape)
    path.write_bytes(gzip.compress(header + values.astype("uint8").tobytes(), mtime=0))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()  # grey values of 0 to 16
    write(folder / "train-images-idx3-ubyte.gz", 2051, (digits.images * 255 / 16).round())
    write(folder / "train-labels-idx1-ubyte.gz", 2049, digits.target)


if __name__ == "__main__":
    main()
