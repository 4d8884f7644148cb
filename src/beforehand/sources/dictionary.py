"""The different texts of a column, sorted, and each row's place among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.sources.faults import Mask


@dataclass(frozen=True)
class Dictionary:
    """`names`, different and sorted by code point; `codes` (int32) is one place a row."""

    names: pl.Series
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, texts: pl.Series) -> Dictionary:
        """The dictionary of a column of strings without nulls.

        >>> Dictionary.of(pl.Series(["b", "a", "b"])).codes.tolist()
        [1, 0, 1]
        """
        names = texts.unique().sort()
        codes = texts.cast(pl.Enum(names)).to_physical().to_numpy()
        return cls(names, codes.astype(np.int32))

    def kept(self, rows: Mask) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The names that these rows have, and the rows' places among them.

        >>> Dictionary.of(pl.Series(["b", "a", "c"])).kept(np.array([True, False, True]))
        (('b', 'c'), array([0, 1], dtype=int32))
        """
        codes = self.codes if rows.all() else self.codes[rows]
        used = np.bincount(codes, minlength=len(self.names)) > 0
        if used.all():
            return tuple(self.names.to_list()), codes
        places = (np.cumsum(used) - 1).astype(np.int32)
        return tuple(self.names.filter(pl.Series(used)).to_list()), places[codes]
