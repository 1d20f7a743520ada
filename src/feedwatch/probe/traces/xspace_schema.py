"""The few messages of an XSpace file, described for the protobuf runtime.

TensorFlow ships these classes too, but importing them takes seconds and a reader of traces may not have it. Fields
that are not described here are skipped by the runtime. Texts are declared as bytes, which is the same on the wire:
a broken character in one name must not make the whole file unreadable.
"""

from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "feedwatch.xspace"

# message -> (field, number, type); a type that is a message's name is a message, "+" marks a repeated field.
_MESSAGES: Final[dict[str, tuple[tuple[str, int, str], ...]]] = {
    "XSpace": (("planes", 1, "+XPlane"), ("errors", 2, "+bytes"), ("warnings", 3, "+bytes")),
    "XPlane": (
        ("name", 2, "bytes"),
        ("lines", 3, "+XLine"),
        ("event_metadata", 4, "+XEventMetadataEntry"),
        ("stat_metadata", 5, "+XStatMetadataEntry"),
    ),
    "XLine": (("name", 2, "bytes"), ("timestamp_ns", 3, "int64"), ("events", 4, "+XEvent")),
    "XEvent": (
        ("metadata_id", 1, "int64"),
        ("offset_ps", 2, "int64"),
        ("duration_ps", 3, "int64"),
        ("stats", 4, "+XStat"),
        ("num_occurrences", 5, "int64"),
    ),
    "XStat": (
        ("metadata_id", 1, "int64"),
        ("uint64_value", 3, "uint64"),
        ("int64_value", 4, "int64"),
        ("str_value", 5, "bytes"),
        ("bytes_value", 6, "bytes"),
        ("ref_value", 7, "uint64"),
    ),
    # A map is, on the wire, a repeated message of key and value.
    "XEventMetadataEntry": (("key", 1, "int64"), ("value", 2, "XEventMetadata")),
    "XEventMetadata": (("id", 1, "int64"), ("name", 2, "bytes"), ("stats", 5, "+XStat")),
    "XStatMetadataEntry": (("key", 1, "int64"), ("value", 2, "XStatMetadata")),
    "XStatMetadata": (("id", 1, "int64"), ("name", 2, "bytes")),
}


@cache
def xspace_class() -> Any:
    """Built on first use: importing this module costs nothing but protobuf itself."""
    file = descriptor_pb2.FileDescriptorProto(name="feedwatch/xspace.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind in fields:
            _add_field(message, field_name, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.XSpace"))


def _add_field(message: Any, name: str, number: int, kind: str) -> None:
    field_type = descriptor_pb2.FieldDescriptorProto
    field = message.field.add(name=name, number=number)
    field.label = field_type.LABEL_REPEATED if kind.startswith("+") else field_type.LABEL_OPTIONAL
    kind = kind.lstrip("+")
    if kind in _MESSAGES:
        field.type, field.type_name = field_type.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(field_type, f"TYPE_{kind.upper()}")
