"""Records as JSON and back, exact to the last bit: a closed list of types, each field of its declared type.

Nothing in a file is executed, and nothing is made but records of the list: a name in a file is looked up in
it, never imported. The fields of a record are those that its class declares, so a new field is written and
read without a change here; one that a file lacks has its default. Arrays are kept once each, however many
records share them: as the bytes of little-endian numbers, packed by zlib, in base64; or as plain numbers if
they are few.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import inspect
import math
import types
import typing
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.tables import InputError

PLAIN = 24
"""Numbers up to which an array is written as plain numbers."""
MANY_NAMES = 200
"""Names from which on those that stand there several times are written once, with their places."""
MOST_BYTES = 2_000_000_000
"""Of all arrays of a file together."""
LARGEST = 1e120
"""A number beyond this overflows when it is multiplied with others."""
LONGEST = 2**40
"""Numbers along the axes of an array, multiplied, at most: also of one that is empty."""
DTYPES = {"float64": "<f8", "int64": "<i8", "int8": "<i1", "bool": "|b1"}
"""Numbers that are written, and how."""
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""Numbers that JSON does not have."""
_PLAIN_LABELS = (str, int, bool)


class Declared(NamedTuple):
    """A field of a record: its type, and what it is where a file does not say; MISSING if it must."""

    type: Any
    default: Any


@dataclass(frozen=True)
class Schema:
    """The closed list of what may be written and read.

    Parameters
    ----------
    records : dataclasses, named tuples, enumerations, and classes whose `__init__` takes attributes
    aliases : names that the annotations of these use, beside the records' own
    computed : cached properties of a record that are kept if they are there
    shapes : of a record's arrays, a letter an axis: a capital is the same size in the whole file, another
        letter in one record; a digit is itself
    checks : what else must be true of a record: a function that returns what is wrong, or None
    makers : how a record is made of its fields' values, where not by calling its class
    may_be_nan : names of fields that may be NaN or infinite
    """

    records: tuple[type, ...]
    aliases: Mapping[str, Any] = field(default_factory=dict)
    computed: Mapping[type, tuple[str, ...]] = field(default_factory=dict)
    shapes: Mapping[type, Mapping[str, str]] = field(default_factory=dict)
    checks: Mapping[type, Callable[[Any], str | None]] = field(default_factory=dict)
    makers: Mapping[type, Callable[..., Any]] = field(default_factory=dict)
    may_be_nan: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> dict[str, Any]:
        """Of the annotations."""
        return {"Any": Any, "NDArray": NDArray, **{one.__name__: one for one in self.records}, **self.aliases}

    @cached_property
    def _known(self) -> dict[type, dict[str, Declared]]:
        return {}

    def fields_of(self, record: type) -> dict[str, Declared]:
        """Every field by name."""
        if record not in self._known:
            self._known[record] = dict(self._declared(record))
        return self._known[record]

    def _declared(self, record: Any) -> typing.Iterator[tuple[str, Declared]]:
        if is_dataclass(record):
            hints = typing.get_type_hints(record, localns=self.names)
            for one in fields(record):
                made = one.default_factory
                yield one.name, Declared(hints[one.name], one.default if made is MISSING else made())
        elif issubclass(record, tuple):
            hints = typing.get_type_hints(record, localns=self.names)
            for name in record._fields:
                yield name, Declared(hints[name], record._field_defaults.get(name, MISSING))
        elif record.__init__ is not object.__init__:
            hints = typing.get_type_hints(record.__init__, localns=self.names)
            for given in list(inspect.signature(record.__init__).parameters.values())[1:]:
                default = MISSING if given.default is inspect.Parameter.empty else given.default
                yield given.name, Declared(hints[given.name], default)

    def type_of(self, record: type, computed: str) -> Any:
        """What a cached property gives."""
        getter = inspect.getattr_static(record, computed).func
        return typing.get_type_hints(getter, localns=self.names)["return"]


class Writer:
    """Records to JSON's own types; `arrays` fill as they come."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.arrays: list[dict[str, Any]] = []
        self._places: dict[bytes, int] = {}

    def write(self, value: Any) -> Any:
        """A value of any type of the list."""
        if isinstance(value, np.ndarray):
            return self._names(value) if value.dtype == object else self._array(value)
        if type(value) in self.schema.records:
            return value.value if isinstance(value, Enum) else self._record(value)
        if value is None or isinstance(value, str):
            return None if value is None else str.__str__(value)
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            return _number(float(value))
        if isinstance(value, type) and issubclass(value, np.floating):
            return np.dtype(value).name
        if type(value) is dict:
            return [[self.write(key), self.write(one)] for key, one in value.items()]
        if type(value) in (tuple, list):
            return [self.write(one) for one in value]
        raise TypeError(f"{type(value).__name__} is not in the list of records that are saved")

    def _record(self, value: Any) -> dict[str, Any]:
        record = type(value)
        values = {name: getattr(value, name) for name in self.schema.fields_of(record)}
        values |= {
            name: vars(value)[name] for name in self.schema.computed.get(record, ()) if name in vars(value)
        }
        return {"is": record.__name__} | {name: self.write(one) for name, one in values.items()}

    def _names(self, values: NDArray[Any]) -> Any:
        """Names one after the other; or each once, and which of them is where."""
        if len(values) < MANY_NAMES:
            return [_label(one) for one in values]
        known: dict[Any, int] = {}
        # 1 and True are not the same name.
        places = np.array([known.setdefault((type(one), one), len(known)) for one in values.tolist()])
        if 2 * len(known) > len(values):
            return [_label(one) for one in values]
        return {"names": [_label(one) for _, one in known], "places": self._array(places)}

    def _array(self, values: NDArray[Any]) -> dict[str, Any]:
        name, shape = values.dtype.name, list(values.shape)
        order: Literal["F", "C"] = "F" if values.flags.fnc else "C"
        if name not in DTYPES:
            raise TypeError(f"Arrays of {name} are not in the list of what is saved")
        if values.size <= PLAIN:
            flat = values.ravel(order).tolist()
            plain = [_number(one) for one in flat] if name == "float64" else flat
            return {"dtype": name, "shape": shape, "order": order, "values": plain}
        data = values.astype(DTYPES[name], copy=False).tobytes(order)
        key = hashlib.sha256(f"{name}{shape}{order}".encode() + data).digest()
        if key not in self._places:
            self._places[key] = len(self.arrays)
            packed = base64.b64encode(zlib.compress(data, 6)).decode()
            self.arrays.append({"dtype": name, "shape": shape, "order": order, "zlib": packed})
        return {"array": self._places[key]}


class Reader:
    """The records again, every value checked; an InputError says what is wrong and where."""

    def __init__(self, schema: Schema, arrays: Any, what: str) -> None:
        self.schema, self.what = schema, what
        self.packed: Sequence[Any] = arrays if isinstance(arrays, list) else []
        self._unpacked: dict[int, NDArray[Any]] = {}
        self._sizes: dict[str, int] = {}
        self._total = 0

    def read(self, data: Any, declared: Any, path: str) -> Any:
        """The value of a declared type that JSON's types stand for; `path` says where it is."""
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        if origin in (typing.Union, types.UnionType):
            return self._either(data, arguments, path)
        if origin is np.ndarray:
            return self._array(data, np.dtype(typing.get_args(arguments[1])[0]), path)
        if origin in (tuple, list, Sequence):
            return self._row(data, tuple if origin is tuple else list, arguments, path)
        if origin in (dict, Mapping):
            return self._dict(data, arguments, path)
        if origin is Literal:
            return data if data in arguments else self._refuse(path, "none of the known words")
        if origin is type:
            names = {"float64": np.float64, "float32": np.float32}
            return names[data] if isinstance(data, str) and data in names else self._refuse(path, "no type")
        return self._single(data, declared, path)

    def _single(self, data: Any, declared: Any, path: str) -> Any:
        """A value that is neither a container nor one of several types."""
        if declared in (None, types.NoneType):
            return None if data is None else self._refuse(path, "not null")
        if declared in (str, bool, int):
            return data if type(data) is declared else self._refuse(path, f"no {declared.__name__}")
        if declared is float:
            return self._number(data, path)
        if isinstance(declared, type) and issubclass(declared, Enum):
            known = {one.value: one for one in declared}
            return known[data] if isinstance(data, str) and data in known else self._refuse(path, "unknown")
        return self._record(data, declared, path)

    def _refuse(self, path: str, wrong: str) -> typing.NoReturn:
        raise InputError(f"{self.what} is damaged: {path} is {wrong}; take a copy of it, or save it anew.")

    def _either(self, data: Any, choices: tuple[Any, ...], path: str) -> Any:
        """Of the first type that it is."""
        first: InputError | None = None
        for declared in choices:
            try:
                return self.read(data, declared, path)
            except InputError as error:
                first = first if first is not None and declared in (None, types.NoneType) else error
        assert first is not None
        raise first

    def _number(self, data: Any, path: str) -> int | float:
        if isinstance(data, str) and data in NOT_FINITE:
            name = path.rpartition(".")[2].partition("[")[0]
            return NOT_FINITE[data] if name in self.schema.may_be_nan else self._refuse(path, "not finite")
        if type(data) not in (int, float) or abs(data) > LARGEST:
            self._refuse(path, "no number, or one that is too large")
        result: int | float = data
        return result

    def _row(self, data: Any, made: Any, arguments: tuple[Any, ...], path: str) -> Any:
        if not isinstance(data, list):
            self._refuse(path, "no list")
        declared = arguments[:1] * len(data) if made is list or arguments[-1] is Ellipsis else arguments
        if len(declared) != len(data):
            self._refuse(path, f"{len(data)} values, not {len(declared)}")
        return made(
            self.read(one, of, f"{path}[{i}]") for i, (one, of) in enumerate(zip(data, declared, strict=True))
        )

    def _dict(self, data: Any, arguments: tuple[Any, ...], path: str) -> dict[Any, Any]:
        pairs = self._row(data, tuple, (tuple[arguments], ...), path)  # type: ignore[valid-type]
        if len(result := dict(pairs)) < len(pairs):
            self._refuse(path, "a list with a key twice")
        return result

    def _record(self, data: Any, declared: Any, path: str) -> Any:
        name = data.get("is") if isinstance(data, dict) else None
        found = [one for one in self.schema.records if one.__name__ == name and issubclass(one, declared)]
        if not found:
            self._refuse(path, f"no {declared.__name__}")
        record, values = found[0], {}
        given = {key: value for key, value in data.items() if key != "is"}
        for key, one in self.schema.fields_of(record).items():
            if key in given:
                values[key] = self.read(given.pop(key), one.type, f"{path}.{key}")
            elif one.default is MISSING:
                self._refuse(f"{path}.{key}", "missing")
            else:
                values[key] = one.default
        computed = {
            key: self.read(given.pop(key), self.schema.type_of(record, key), f"{path}.{key}")
            for key in self.schema.computed.get(record, ())
            if key in given
        }
        for key in given:
            self._refuse(f"{path}.{key[:40]}", "not known to this coombs")
        self._check_shapes(record, {**values, **computed}, path)
        made = self.schema.makers.get(record, record)(**values)
        if computed:
            vars(made).update(computed)
        for kind, check in self.schema.checks.items():
            if isinstance(made, kind) and (wrong := check(made)) is not None:
                self._refuse(path, wrong)
        return made

    def _check_shapes(self, record: type, values: Mapping[str, Any], path: str) -> None:
        own: dict[str, int] = {}
        shapes = {
            name: law for one in record.__mro__ for name, law in self.schema.shapes.get(one, {}).items()
        }
        for name, law in shapes.items():
            if not isinstance(values.get(name), np.ndarray):
                continue
            shape = values[name].shape
            sizes = [
                int(letter)
                if letter.isdigit()
                else (self._sizes if letter.isupper() else own).setdefault(letter, n)
                for letter, n in zip(law, shape, strict=False)
            ]
            if list(shape) != sizes or len(shape) != len(law):
                self._refuse(f"{path}.{name}", f"of shape {shape}, not {tuple(sizes)}")

    def _array(self, data: Any, dtype: np.dtype[Any], path: str) -> NDArray[Any]:
        if dtype.kind == "O":
            return self._labels(data, path)
        name = path.rpartition(".")[2].partition("[")[0]
        if isinstance(data, dict) and data.keys() == {"array"}:
            place = data["array"]
            if type(place) is not int or not 0 <= place < len(self.packed):
                self._refuse(path, "an array that is not there")
            if place not in self._unpacked:
                self._unpacked[place] = self._unpack(self.packed[place], f"arrays[{place}]")
            result = self._unpacked[place]
        else:
            result = self._plain(data, path)
        if result.dtype != dtype:
            self._refuse(path, f"of {result.dtype}, not {dtype}")
        if result.dtype.kind == "f" and not (np.abs(result) <= LARGEST).all():
            is_nan = name in self.schema.may_be_nan and not (np.abs(result) > LARGEST).any()
            return result if is_nan else self._refuse(path, "not finite, or too large")
        return result

    def _header(self, data: Any, content: str, path: str) -> tuple[str, tuple[int, ...], Any, Any]:
        """Type, shape, order and content of an array."""
        if not isinstance(data, dict) or data.keys() != {"dtype", "shape", "order", content}:
            self._refuse(path, "no array")
        name, shape, order = data["dtype"], data["shape"], data["order"]
        if not isinstance(name, str) or name not in DTYPES or order not in ("C", "F"):
            self._refuse(path, "an array of no known type")
        if not isinstance(shape, list) or len(shape) > 8 or any(type(n) is not int or n < 0 for n in shape):
            self._refuse(path, "an array of no shape")
        if math.prod(max(n, 1) for n in shape) > LONGEST:
            self._refuse(path, "an array larger than any")
        return name, tuple(shape), order, data[content]

    def _plain(self, data: Any, path: str) -> NDArray[Any]:
        name, shape, order, values = self._header(data, "values", path)
        declared = {"float64": float, "bool": bool}.get(name, int)
        if not isinstance(values, list) or len(values) != math.prod(shape):
            self._refuse(path, "not as many numbers as its shape says")
        numbers = [self.read(one, declared, path) for one in values]
        try:
            return _frozen(np.array(numbers, dtype=name).reshape(shape, order=order))
        except OverflowError:
            self._refuse(path, "a number that is too large")

    def _unpack(self, data: Any, path: str) -> NDArray[Any]:
        name, shape, order, packed = self._header(data, "zlib", path)
        size = math.prod(shape) * np.dtype(name).itemsize
        self._total += size
        if self._total > MOST_BYTES:
            self._refuse(path, f"more than {MOST_BYTES // 10**6} MB with the arrays before it")
        try:
            # At most as much is unpacked as the shape asks for.
            stream = zlib.decompressobj()
            values = stream.decompress(base64.b64decode(packed, validate=True), size + 1)
        except (binascii.Error, zlib.error, TypeError, ValueError):
            self._refuse(path, "no packed array")
        if len(values) != size or not stream.eof:
            self._refuse(path, "not as many numbers as its shape says")
        if name == "bool" and not set(values) <= {0, 1}:
            self._refuse(path, "neither true nor false")
        array = np.frombuffer(values, DTYPES[name]).astype(name)
        return _frozen(array.reshape(shape, order=order))

    def _labels(self, data: Any, path: str) -> NDArray[Any]:
        if isinstance(data, dict) and data.keys() == {"names", "places"}:
            names = self._labels(data["names"], f"{path}.names")
            places = self._numbers(data["places"], f"{path}.places")
            if not len(names) or places.min() < 0 or places.max() >= len(names):
                self._refuse(path, "of names that are not there")
            return _frozen(names[places])
        if isinstance(data, dict):
            return self._numbers(data, path)
        if not isinstance(data, list):
            self._refuse(path, "no list of names")
        result = np.empty(len(data), dtype=object)
        result[:] = [self._read_label(one, f"{path}[{i}]") for i, one in enumerate(data)]
        return _frozen(result)

    def _numbers(self, data: Any, path: str) -> NDArray[Any]:
        """Whole numbers in a row that are names, or places of names."""
        found = self._array(data, np.dtype(np.int64), path)
        return found if found.ndim == 1 and len(found) else self._refuse(path, "no list of names")

    def _read_label(self, data: Any, path: str) -> Any:
        if type(data) in _PLAIN_LABELS or type(data) is float:
            return data
        if not isinstance(data, dict) or len(data) != 1:
            self._refuse(path, "no name")
        ((kind, text),) = data.items()
        try:
            return naming.read(kind, text)
        except (OverflowError, TypeError, ValueError):
            self._refuse(path, "no name")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _number(value: float) -> float | str:
    """A number as JSON has it."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _label(value: Any) -> Any:
    """A name with its type: as it is where JSON has the type, else with what it is."""
    if type(value) in _PLAIN_LABELS or (type(value) is float and math.isfinite(value)):
        return value
    kind = str(naming.kinds([value]))
    if kind == "text":
        of = type(value).__name__
        raise InputError(
            f"The name {value!r} is a {of}, which a file cannot keep; use texts, numbers or dates."
        )
    return {kind: naming.text(value)}
