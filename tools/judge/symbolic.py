"""Tensors of random numbers without values, and tensors of the outcomes that they decide.

`Numbers` hold labels: a label is a float64 that stands for a random number without a value. `Flags`
and `Codes` hold the outcomes of comparing a number with a threshold, or of sampling with it. An
outcome is chosen when it is read, not when the decoder compares. So values that are computed and
then dropped, such as the draws of rows after a rejection, need no run of their own. An operation
for which this module has no rule reads all outcomes first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engine.numerics.randomness import Noise, Purpose
from tools.judge.choices import LATER, Choices, Key, NotEnumerable, current, is_recording

FIRST = 2  # numbers have values from here on, which are no probabilities
_ROUNDING = 1e-9  # of cumulative sums
_BEYOND = 1e9  # above all thresholds
_GUMBEL = torch.tensor([0.0, 0.5], dtype=torch.float64)  # tells two codes' noise apart
Rule = Callable[..., Any]


class SymbolicNoise(Noise):
    """Noise whose random numbers have keys instead of values.

    A key means the same random number in every run and step. `numbers` maps each key to an integer
    that stands for the random number.
    """

    def __init__(self) -> None:
        super().__init__(0, torch.device("cpu"))
        self.numbers: dict[Key, int] = {}

    def branch(self, number: int) -> SymbolicNoise:
        return self

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        keys: list[list[Key]] = [
            [(purpose, start + row, draw, i) for i in range(count)] for row in range(rows)
        ]
        return self._of(keys, (rows, count)).as_subclass(Numbers)

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        """Return labels [count, 2] for the Gumbel noise G_0, G_1 of two codes at each position.

        Both labels of a position stand for one uniform number u. Code 0, with probability p_0, has
        the larger score log p + G exactly if u < p_0. Such a number exists, because the argmax of
        the scores depends only on G_1 - G_0: the distribution function of this difference maps it
        to u. Raises NotEnumerable unless there are two codes.
        """
        if codes != 2:
            raise NotEnumerable("the Gumbel noise of more than two codes is not a single number")
        keys: list[list[Key]] = [[(Purpose.NOISE, start + row)] * 2 for row in range(count)]
        return (self._of(keys, (count, 2)) + _GUMBEL).as_subclass(Gumbel)

    def _of(self, keys: list[list[Key]], shape: tuple[int, int]) -> Tensor:
        known = self.numbers
        values = [[FIRST + known.setdefault(key, len(known)) for key in row] for row in keys]
        return torch.tensor(values, dtype=torch.float64).view(shape)


class Symbolic(Tensor):
    @classmethod
    def __torch_function__(
        cls,
        function: Rule,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name, kwargs = function.__name__, kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            if name in _RULES:
                result = _RULES[name](*args, **kwargs)
                if result is not NotImplemented:
                    return result
            if name in _MOVES:
                return _moved(function, args, kwargs)
            if name.startswith("new_") or name.endswith("_like"):
                return function(_plain(args[0]), *args[1:], **kwargs)
            if name == "__deepcopy__":
                return copied(args[0])
            return function(*settled(args), **settled(kwargs))


class Numbers(Symbolic):
    """Uniform random numbers, each given by its label.

    A number's label is FIRST plus the number's integer in `SymbolicNoise.numbers`. An entry below
    FIRST is no label but the value of a given number, as in `ChosenTests`.
    """


class Gumbel(Symbolic):
    """Gumbel noise [.., 2] of two codes, given by labels (`SymbolicNoise.gumbel`).

    One uniform number chooses between the codes. The entry of code 0 is that number's label, as in
    `Numbers`; the entry of code 1 is the same label plus 0.5 (`_GUMBEL`). By the 0.5, `_plus` can
    check that each code's score gets the noise of that code.
    """


class Scores(Symbolic):
    """Scores log p + G [.., 2] of two codes; `numbers` [..] choose between the two."""

    numbers: Tensor


class Affine(Symbolic):
    """Affine functions of numbers u: scale * u - shift."""

    scale: Tensor
    shift: Tensor


class Flags(Symbolic):
    """Booleans as int64; values from LATER on are outcomes that are still open."""


class Codes(Symbolic):
    """Whole numbers; values from LATER on are outcomes that are still open."""


_MOVES = {
    *("__getitem__", "__get__", "__len__", "size", "dim", "view", "reshape", "expand", "expand_as"),
    *("clone", "cat", "stack", "split", "unbind", "flatten", "unsqueeze", "squeeze", "movedim"),
    *("contiguous", "pad", "gather", "index_select", "roll", "flip"),
}


def _plain(value: Any) -> Any:
    return value.as_subclass(Tensor) if isinstance(value, Symbolic) else value


def settled(value: Any) -> Any:
    """Return the value with every outcome chosen that is still open.

    A random number becomes NaN within `recording`; elsewhere it raises NotEnumerable.
    """
    if isinstance(value, (tuple, list)):
        return type(value)(map(settled, value))
    if isinstance(value, dict):
        return {key: settled(each) for key, each in value.items()}
    if not isinstance(value, Symbolic):
        return value
    if not isinstance(value, (Flags, Codes)):
        if is_recording():
            return torch.full(value.shape, torch.nan, dtype=torch.float64)
        raise NotEnumerable(
            "it does something else with a random number than compare it with a threshold or sample"
            " with it"
        )
    codes = _plain(value)
    outcomes = [current().value(code) for code in codes.flatten().tolist()]
    tensor = torch.tensor(outcomes, dtype=torch.long).view(codes.shape)
    return tensor.bool() if isinstance(value, Flags) else tensor


def copied(value: Tensor) -> Tensor:
    """Return a copy that a later run can read.

    Numbers stay numbers; outcomes that are still open are chosen now.
    """
    if not isinstance(value, Symbolic):
        return value.clone()
    if isinstance(value, (Flags, Codes)):
        tensor: Tensor = settled(value)
        return tensor
    twin: Tensor = _plain(value).clone().as_subclass(type(value))
    vars(twin).update(vars(value))
    return twin


def _wrap(kind: type[Symbolic], value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_wrap(kind, each) for each in value)
    if not isinstance(value, Tensor):
        return value
    if kind in (Flags, Codes) and not (value >= LATER).any():
        return value.bool() if kind is Flags else value
    return value.as_subclass(kind)


def _moved(function: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an operation that only moves values."""
    data, *rest = args
    parts = data if isinstance(data, (tuple, list)) else [data]
    kinds = [type(part) for part in parts if isinstance(part, Symbolic)]
    data = type(data)(map(_plain, data)) if isinstance(data, (tuple, list)) else _plain(data)
    if kinds and kinds[0] in (Affine, Scores):
        raise NotEnumerable("it takes part of what it computed from random numbers")
    result = function(data, *settled(rest), **settled(kwargs))
    return _wrap(kinds[0], result) if kinds else result


def _columns(*operands: Any) -> tuple[torch.Size, list[tuple[Any, ...]]]:
    inputs = [torch.as_tensor(_plain(operand)) for operand in operands]
    tensors: list[Tensor] = list(torch.broadcast_tensors(*inputs))  # type: ignore[no-untyped-call]
    return tensors[0].shape, list(zip(*(t.flatten().tolist() for t in tensors), strict=True))


def _postponed(kind: type[Symbolic], shape: torch.Size, codes: list[int]) -> Any:
    return _wrap(kind, torch.tensor(codes, dtype=torch.long).view(shape))


def _whole(*operands: Any) -> bool:
    """Return whether no operand is floating-point."""
    return not any(
        isinstance(each, float) or (isinstance(each, Tensor) and each.is_floating_point())
        for each in operands
    )


def _strictly(operation: Callable[..., int], kind: type[Symbolic]) -> Rule:
    """Return the rule of an operation that always needs all its operands, whole numbers.

    While an operand's outcome is open, so is the result's. Reading the result reads all operands. A
    tensor with open results has the class `kind`: Flags or Codes.
    """

    def rule(*operands: Any) -> Any:
        if not _whole(*operands):
            return NotImplemented
        run = current()

        def column(*codes: int) -> int:
            if all(code < LATER for code in codes):
                return int(operation(*codes))
            return run.postpone(lambda: operation(*map(run.value, codes)))

        shape, columns = _columns(*operands)
        return _postponed(kind, shape, [column(*codes) for codes in columns])

    return rule


def _where(condition: Any, chosen: Any, other: Any) -> Any:
    if not _whole(chosen, other):
        kinds = [type(each) for each in (chosen, other) if isinstance(each, Symbolic)]
        result = torch.where(settled(condition), _plain(chosen), _plain(other))
        return _wrap(kinds[0], result) if kinds else result
    run = current()

    def column(c: int, a: int, b: int) -> int:
        if c < LATER:
            return a if c else b
        return run.postpone(lambda: run.value(a) if run.value(c) else run.value(b))

    shape, columns = _columns(condition, chosen, other)
    flags = isinstance(chosen, Flags) or (isinstance(chosen, Tensor) and chosen.dtype == torch.bool)
    return _postponed(Flags if flags else Codes, shape, [column(*codes) for codes in columns])


def _connective(ending: int) -> Rule:
    """Return the rule of `and` (0) or `or` (1): the first operand equal to `ending` decides."""

    def rule(left: Any, right: Any) -> Any:
        run = current()

        def column(a: int, b: int) -> int:
            if ending in (a, b):
                return ending
            if a < LATER:
                return b
            if b < LATER:
                return a
            return run.postpone(lambda: ending if run.value(a) == ending else run.value(b))

        shape, columns = _columns(left, right)
        return _postponed(Flags, shape, [column(*codes) for codes in columns])

    return rule


def _outcomes_alone(values: Any) -> None:
    if isinstance(values, Numbers | Gumbel | Affine):
        raise NotEnumerable("it computes with random numbers before it compares them")


def _any(flags: Any, dim: int = 0, keepdim: bool = False) -> Any:
    _outcomes_alone(flags)
    if flags.dim() != 1:
        return NotImplemented
    codes, run = _plain(flags).tolist(), current()
    outcome = run.postpone(lambda: int(any(run.value(code) for code in codes)))
    return _postponed(Flags, torch.Size([1] if keepdim else []), [outcome])


def _argmax(values: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Sample from scores; for flags, return the index of the first that is true."""
    if isinstance(values, Scores) and dim in (-1, values.dim() - 1) and not keepdim:
        return _sampled(_plain(values).exp().cumsum(-1), values.numbers)
    _outcomes_alone(values)
    if values.dim() != 1:
        return NotImplemented
    codes, run = _plain(values).tolist(), current()
    first = run.postpone(lambda: next((i for i, c in enumerate(codes) if run.value(c)), 0))
    return _postponed(Codes, torch.Size([1] if keepdim else []), [first])


def _cumprod(flags: Any, dim: int) -> Any:
    """Multiply along each row.

    Reading a product reads its factors in order up to the first zero; later ones stay open.
    """
    _outcomes_alone(flags)
    if flags.dim() not in (1, 2) or dim not in (-1, flags.dim() - 1):
        return NotImplemented
    run, products = current(), list[int]()
    for row in _plain(flags).reshape(-1, flags.shape[-1]).tolist():
        out = list[int]()
        for code in row:
            out.append(code if not out else run.postpone(partial(_both, run, out[-1], code)))
        products += out
    return _postponed(Codes, _plain(flags).shape, products)


def _both(run: Choices, before: int, code: int) -> int:
    return int(bool(run.value(before)) and run.value(code))


def _sum(codes: Any, dim: int = 0, **kwargs: Any) -> Any:
    plain, run = _plain(codes), current()
    last = dim == -1 or plain.dim() == 1
    if plain.dim() not in (1, 2) or not last or kwargs or not isinstance(codes, Flags | Codes):
        return NotImplemented

    def total(row: list[int]) -> int:
        return run.postpone(lambda: sum(map(run.value, row)))

    totals = [total(row) for row in plain.reshape(-1, plain.shape[-1]).tolist()]
    return _postponed(Codes, plain.shape[:-1], totals)


def _comparison(operation: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule that compares numbers with thresholds, on either side.

    The probability that a number equals a threshold is 0, so it does not matter what equality
    gives.
    """

    def rule(left: Any, right: Any) -> Any:
        if not isinstance(left, Numbers | Affine) and not isinstance(right, Numbers | Affine):
            return _strictly(operation, Flags)(left, right)
        if isinstance(left, Numbers | Affine):
            numbers, thresholds, holds = left, right, operation(0, 1)
        else:
            numbers, thresholds, holds = right, left, operation(1, 0)
        _outcomes_alone(thresholds)
        # No comparison with NaN holds.
        below = _below(
            numbers, torch.as_tensor(settled(thresholds)).nan_to_num(-_BEYOND if holds else _BEYOND)
        )
        return below if holds else _RULES["bitwise_not"](below)

    return rule


def _below(numbers: Any, thresholds: Tensor) -> Any:
    if isinstance(numbers, Affine):
        if (numbers.scale < 0).any():
            raise NotEnumerable("it multiplies a random number by a negative one")
        bound = thresholds + numbers.shift
        thresholds = (bound / numbers.scale).nan_to_num(0.0)  # 0 is not below 0
    run = current()

    def column(u: float, a: float) -> int:
        if u < FIRST:
            return int(u < a)
        if a <= 0 or a >= 1:
            return int(a >= 1)
        return run.postpone(lambda: 1 - run.part(int(u) - FIRST, [0.0, a, 1.0]))

    shape, columns = _columns(numbers, thresholds)
    return _postponed(Flags, shape, [column(*pair) for pair in columns])


def _times(numbers: Any, scale: Any) -> Any:
    if not isinstance(numbers, Numbers):
        numbers, scale = scale, numbers
    if not isinstance(numbers, Numbers):
        return _strictly(operator.mul, Codes)(numbers, scale)
    _outcomes_alone(scale)
    result = _plain(numbers).as_subclass(Affine)
    result.scale, result.shift = torch.as_tensor(scale, dtype=torch.float64), torch.zeros(())
    return result


def _minus(values: Any, shift: Any) -> Any:
    if not isinstance(values, Affine):
        return _strictly(operator.sub, Codes)(values, shift)
    _outcomes_alone(shift)
    result = _plain(values).clone().as_subclass(Affine)
    result.scale, result.shift = values.scale, values.shift + shift
    return result


def _plus(left: Any, right: Any) -> Any:
    noise = right if isinstance(right, Gumbel) else left
    if not isinstance(noise, Gumbel):
        return _strictly(operator.add, Codes)(left, right)
    scores, plain = left if noise is right else right, _plain(noise)
    if isinstance(scores, Symbolic) or plain.dim() < 1 or plain.shape[-1] != 2:
        raise NotEnumerable("it adds Gumbel noise to something other than the logits of all codes")
    if not torch.equal(plain - plain[..., :1], _GUMBEL.expand_as(plain)):
        raise NotEnumerable("it adds Gumbel noise to another token than its own")
    result = scores.expand_as(plain).clone().as_subclass(Scores)
    result.numbers = plain[..., 0]
    return result


def _minimum(values: Any, bound: Any) -> Any:
    """Return the values themselves, if nothing but rounding could lift them above `bound`.

    `engine.numerics.distributions.sample` sets such a bound for its targets. Raises NotEnumerable
    for other bounds. Whole numbers are bounded as usual.
    """
    if not isinstance(values, Affine):
        return _strictly(min, Codes)(values, bound)
    return _unbounded(values, bound >= (values.scale - values.shift) * (1 - _ROUNDING))


def _clamp_min(values: Any, bound: Any) -> Any:
    """Return the values themselves, if nothing but rounding could take them below `bound`.

    `engine.numerics.distributions.sample` first finds a block of tokens, then a token in the block.
    For the second search it sets such a bound: 0. Raises NotEnumerable for other bounds.
    """
    if not isinstance(values, Affine):
        return NotImplemented
    return _unbounded(values, bound <= values.scale * _ROUNDING - values.shift)


def _unbounded(values: Any, beyond: Any) -> Any:
    """Return the values. Raises NotEnumerable unless all of `beyond` is true.

    `beyond` is true for a value that cannot cross its bound by more than rounding.
    """
    if not torch.as_tensor(beyond).all():
        raise NotEnumerable("it bounds what it computed from random numbers")
    return values


def _searchsorted(cumulative: Any, target: Any, **kwargs: Any) -> Any:
    """Return the index of the first cumulative sum [.., V] above each target [.., 1].

    The probability that a target equals a cumulative sum is 0, so `right` does not matter.
    """
    if isinstance(target, Numbers):
        target = _times(target, 1.0)
    if not isinstance(target, Affine) or target.shape[-1] != 1 or isinstance(cumulative, Symbolic):
        return NotImplemented
    bounds = (cumulative + target.shift) / target.scale
    if ((bounds[..., -1] - 1).abs() > _ROUNDING).any():  # it is NaN if all are 0
        raise NotEnumerable("it samples with a random number whose range is not that of the sum")
    return _wrap(Codes, _plain(_sampled(bounds, _plain(target)[..., 0]))[..., None])


def _truncated(values: Any) -> Any:
    if not isinstance(values, Affine):
        return _plain(values).as_subclass(Codes) if isinstance(values, Flags) else values
    codes = int(values.scale) if values.scale.numel() == 1 else 0
    if codes < 1 or codes != float(values.scale) or values.shift.any():
        raise NotEnumerable("it truncates numbers that are not multiples of a random one")
    return _sampled(torch.arange(1, codes + 1).double() / codes, _plain(values))


def _sampled(cumulative: Tensor, numbers: Tensor) -> Any:
    """Return the index of the first cumulative sum [.., V] above each number [..]."""
    run = current()
    shares = (cumulative / cumulative[..., -1:]).nan_to_num(1.0).expand(*numbers.shape, -1)
    shares = shares.reshape(-1, shares.shape[-1])
    rows = shares[:, : max((shares < 1).sum(-1).tolist(), default=0) + 1].tolist()

    def column(row: list[float], u: float) -> int:
        inside = [0.0, *row[: row.index(1.0)], 1.0]
        if sum(b > a for a, b in pairwise(inside)) < 2:
            return next((i for i, (a, b) in enumerate(pairwise(inside)) if b > a), 0)
        return run.postpone(lambda: run.part(int(u) - FIRST, inside))

    values = numbers.flatten().tolist()
    codes = [column(row, u) for row, u in zip(rows, values, strict=True)]
    return _postponed(Codes, numbers.shape, codes)


def _assign(place: Any, index: Any, value: Any) -> None:
    if isinstance(place, Symbolic):
        _plain(place)[settled(index)] = _plain(value)
    else:
        place[settled(index)] = settled(value)


_RULES: dict[str, Rule] = {
    "where": _where,
    "any": _any,
    "argmax": _argmax,
    "cumprod": _cumprod,
    "sum": _sum,
    "searchsorted": _searchsorted,
    "minimum": _minimum,
    "clamp_max": _minimum,
    "clamp_min": _clamp_min,
    "__setitem__": _assign,
    **dict.fromkeys(("int", "long"), _truncated),
    **dict.fromkeys(("lt", "__lt__", "less"), _comparison(operator.lt)),
    **dict.fromkeys(("le", "__le__", "less_equal"), _comparison(operator.le)),
    **dict.fromkeys(("gt", "__gt__", "greater"), _comparison(operator.gt)),
    **dict.fromkeys(("ge", "__ge__", "greater_equal"), _comparison(operator.ge)),
    **dict.fromkeys(("mul", "__mul__", "__rmul__"), _times),
    **dict.fromkeys(("sub", "__sub__"), _minus),
    **dict.fromkeys(("add", "__add__", "__radd__"), _plus),
    **dict.fromkeys(("and", "__and__", "__rand__"), _connective(0)),
    **dict.fromkeys(("or", "__or__", "__ror__"), _connective(1)),
    **dict.fromkeys(("bitwise_not", "__invert__"), _strictly(lambda a: 1 - a, Flags)),
    **dict.fromkeys(("eq", "__eq__"), _strictly(operator.eq, Flags)),
}
