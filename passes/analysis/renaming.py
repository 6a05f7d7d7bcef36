"""Writes expressions over other leaves: the same computation in another loop."""

from __future__ import annotations

from collections.abc import Mapping

from tileopt.passes.analysis.affine import Bounds, Expr, Symbol
from tileopt.passes.analysis.choices import Symbols


class Renaming:
    """Replaces leaves, also where they stand in the operands of other symbols. A replaced leaf must be the same
    quantity under another name: its relations are taken over as they stand on the new one."""

    def __init__(self, symbols: Symbols, leaves: Mapping[Symbol, Symbol]) -> None:
        self._symbols = symbols
        self._done = dict(leaves)

    def expr(self, e: Expr) -> Expr:
        if not self._done:
            return e
        return e.substitute({s: Expr.symbol(self.symbol(s)) for s in e.symbols()})

    def symbol(self, symbol: Symbol) -> Symbol:
        found = self._done.get(symbol)
        if found is not None:
            return found
        args = tuple(self.expr(a) for a in symbol.args)
        if args == symbol.args:
            self._done[symbol] = symbol
            return symbol
        renamed, new = self._symbols.derived(symbol.kind, symbol.label, args, symbol.bounds)
        self._done[symbol] = renamed
        if new:
            renamed.relations += [self.expr(r) for r in symbol.relations]
            renamed.guarded += [
                (tuple(self.expr(g) for g in guard), tuple(self.expr(r) for r in relations))
                for guard, relations in symbol.guarded
            ]
        return renamed

    def bounds(self, of: Bounds) -> Bounds:
        """The bounds of the renamed symbols, given those of the symbols before."""
        before = {new: old for old, new in self._done.items()}
        return lambda symbol: of(before.get(symbol, symbol))
