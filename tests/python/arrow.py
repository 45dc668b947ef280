# SPDX-License-Identifier: Apache-2.0
"""An Arrow producer and consumer of the tests' own, by ctypes: arrays in every form that keys have.

The structs are those of Arrow's C data interface. Each counts how often it is released, which must be once."""

import ctypes
import struct

POINTER = ctypes.c_void_p


class Schema(ctypes.Structure):
    """ArrowSchema"""


class Array(ctypes.Structure):
    """ArrowArray"""


class Stream(ctypes.Structure):
    """ArrowArrayStream"""


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", POINTER),
                   ("dictionary", POINTER), ("release", RELEASE_SCHEMA), ("private_data", POINTER)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(POINTER)),
                  ("children", POINTER), ("dictionary", POINTER), ("release", RELEASE_ARRAY), ("private_data", POINTER)]
Stream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_ERROR),
                   ("release", RELEASE_STREAM), ("private_data", POINTER)]

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [POINTER, ctypes.c_char_p, POINTER]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = POINTER
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

KEPT = []  # what C points to lives as long as the program


def keep(thing):
    """The address of a thing that stays."""
    KEPT.append(thing)
    return ctypes.addressof(thing)


def bitmap(bools):
    """Bits, low bit first."""
    bits = bytearray((len(bools) + 7) // 8 + 1)
    for i, value in enumerate(bools):
        bits[i // 8] |= value << i % 8
    return bytes(bits)


def buffers_of(form, values):
    """Arrow's buffers of values, without validity: a list of bytes."""
    blank = [b"" if value is None else value for value in values]
    if form in ("u", "z", "U", "Z"):
        ends, text = [0], b""
        for value in blank:
            text += value
            ends.append(len(text))
        return [struct.pack(f"={len(ends)}{'i' if form in 'uz' else 'q'}", *ends), text]
    if form.startswith("w:"):
        return [b"".join(value or bytes(int(form[2:])) for value in blank)]
    if form in ("vu", "vz"):
        views, pools = b"", [b"", b""]
        for i, value in enumerate(blank):
            if len(value) <= 12:
                views += struct.pack("=i12s", len(value), value)
            else:
                views += struct.pack("=i4sii", len(value), value[:4], i % 2, len(pools[i % 2]))
                pools[i % 2] += value
        return [views, *pools, struct.pack("=qq", *map(len, pools))]
    if form == "n":
        return None
    codes = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q"}
    return [struct.pack(f"={len(values)}{codes[form]}", *[0 if value is None else value for value in values])]


class Producer:
    """An object with __arrow_c_array__. `first` values at the beginning are skipped by the offset."""

    def __init__(self, form, values, first=0, null_count=None, dictionary=False, buffers=None, format_=None):
        self.released = {"schema": 0, "array": 0}
        self.form, self.dictionary = format_ or form, dictionary
        nulls = sum(value is None for value in values[first:])
        found = buffers_of(form, values) if buffers is None else buffers
        if found is None:
            places = []
        else:
            # An array without nulls has no bitmap, as Arrow's mostly have none.
            valid = bitmap([value is not None for value in values]) if None in values else None
            places = [valid, *found]
        kept = [None if data is None else ctypes.create_string_buffer(data, max(len(data), 1)) for data in places]
        pointers = (POINTER * max(len(kept), 1))(*[None if data is None else keep(data) for data in kept])
        KEPT.append(pointers)
        self.fields = (len(values) - first, nulls if null_count is None else null_count, first, len(kept), pointers)

    def schema(self):
        """A new ArrowSchema."""
        def release(pointer):
            self.released["schema"] += 1
            pointer[0].release = RELEASE_SCHEMA()
        callback = RELEASE_SCHEMA(release)
        KEPT.append(callback)
        return Schema(self.form.encode(), b"", None, 2, 0, None, keep(Schema()) if self.dictionary else None, callback, None)

    def array(self):
        """A new ArrowArray."""
        def release(pointer):
            self.released["array"] += 1
            pointer[0].release = RELEASE_ARRAY()
        callback = RELEASE_ARRAY(release)
        KEPT.append(callback)
        length, nulls, first, count, pointers = self.fields
        return Array(length, nulls, first, count, 0, ctypes.cast(pointers, ctypes.POINTER(POINTER)), None, None, callback,
                     None)

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.schema(), self.array()
        return (capsule_new(keep(schema), b"arrow_schema", None), capsule_new(keep(array), b"arrow_array", None))


class StreamProducer:
    """An object with __arrow_c_stream__ over producers of one form, which may fail at the end."""

    def __init__(self, form, parts, error=None):
        self.form, self.parts, self.error = form, list(parts), error
        self.released = 0

    def __arrow_c_stream__(self, requested_schema=None):
        waiting = list(self.parts)
        text = ctypes.create_string_buffer(self.error.encode()) if self.error else None

        def get_schema(stream, out):
            out[0] = Producer(self.form, []).schema()
            return 0

        def get_next(stream, out):
            if waiting:
                out[0] = waiting.pop(0).array()
            elif self.error:
                return 5
            else:
                out[0].release = RELEASE_ARRAY()
            return 0

        def release(stream):
            self.released += 1
            stream[0].release = RELEASE_STREAM()
        made = Stream(GET_SCHEMA(get_schema), GET_NEXT(get_next),
                      GET_ERROR(lambda stream: keep(text) if text else None), RELEASE_STREAM(release), None)
        return capsule_new(keep(made), b"arrow_array_stream", None)


def bools_of(answers):
    """The bools that an exporter of Arrow's boolean arrays has; and whether release gave them back."""
    schema_capsule, array_capsule = answers.__arrow_c_array__()
    schema = Schema.from_address(capsule_pointer(schema_capsule, b"arrow_schema"))
    array = Array.from_address(capsule_pointer(array_capsule, b"arrow_array"))
    assert schema.format == b"b" and array.n_buffers == 2 and array.null_count == 0 and not array.buffers[0]
    data = ctypes.string_at(array.buffers[1], (array.offset + array.length + 7) // 8)
    found = [bool(data[(array.offset + i) // 8] >> (array.offset + i) % 8 & 1) for i in range(array.length)]
    array.release(ctypes.byref(array))
    return found, not array.release
