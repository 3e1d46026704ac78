from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.readers.encoding import BinaryContentError, describe_content, detect_encoding

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]), st.integers(1, 7))
def test_sound_text_decodes_to_itself_however_it_is_cut(text: str, codec: str, size: int) -> None:
    content = text.encode(codec)
    head, rest = content[:64], content[64:]
    pieces = [head, *(rest[at : at + size] for at in range(0, len(rest), size))]
    encoding = detect_encoding(pieces)
    assert encoding.fault is None
    assert content.decode(encoding.codec) == text.removeprefix("\ufeff" if codec == "utf-8" else "")


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_binary(content: bytes) -> None:
    try:
        encoding = detect_encoding([content])
    except BinaryContentError:
        assert b"\0" in content
        return
    content.decode(encoding.codec, encoding.errors)
    assert encoding.fault is None or encoding.fault < len(content)


@given(st.text("abcdefé,\n", min_size=1, max_size=30), st.integers(0, 30))
def test_the_fault_is_the_first_byte_that_does_not_fit(text: str, at: int) -> None:
    sound = text[:at].encode()
    assert detect_encoding([sound + b"\xff" + text[at:].encode()]).fault == len(sound)


@pytest.mark.parametrize(
    ("content", "codec"),
    [
        (b"", "utf-8"), (b"plain", "utf-8"), ("é".encode("cp1252"), "cp1252"),
        ("name,größe\n".encode("utf-16-le"), "utf-16-le"), ("name,größe\n".encode("utf-16-be"), "utf-16-be"),
        ("Größe;São Tomé;Ærø;ñandú;5 µm".encode("cp1252"), "cp1252"), ("Łódź;Gdańsk;Kraków".encode("cp1250"), "cp1250"),
        ("Nüfus;Çankırı;Şanlıurfa".encode("cp1254"), "cp1254"),
        ("Klaipėda;Šiauliai;skaičių".encode("cp1257"), "cp1257"),
        ("Москва;Население;Казань".encode("cp1251"), "cp1251"), ("Αθήνα;Πληθυσμός;Πάτρα".encode("cp1253"), "cp1253"),
        ("市名,人口\n札幌市,1973395\n".encode("shift_jis"), "shift_jis"),
        ("城市,人口\n台北市,2602418\n".encode("big5"), "big5"),
        ("Область;Население;Казань".encode("cp866"), "cp866"), ("Größe;Köln;Übung".encode("cp850"), "cp850"),
        ("Málaga;Año;niño".encode("cp850"), "cp850"), ("Größe;5 ¢".encode("cp437"), "cp437"),
        ("“Größe”;Île–de–France;5 ±1;„été“".encode("cp1252"), "cp1252"), ("éüß".encode() + b"\xff", "utf-8"),
    ],
)  # fmt: skip
def test_encodings_without_a_mark(content: bytes, codec: str) -> None:
    assert detect_encoding([content]).codec == codec


def test_binary_content_is_described() -> None:
    assert describe_content(b"\x1f\x8b\x08") == "gzip data (.gz)"
    assert describe_content(b"hello") is None
    with pytest.raises(BinaryContentError, match="gzip"):
        detect_encoding([b"\x1f\x8b\x08\0\0"])


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r", "shift_jis", "utf-16-le", "utf-8-sig"])
def test_a_given_encoding_holds_whatever_the_bytes_look_like(codec: str) -> None:
    text = "тест, abc"
    content = text.encode(codec)
    found = detect_encoding([content[:3], content[3:]], codec)
    assert (found.codec, found.fault) == (codec, None)
    assert content.decode(found.codec, found.errors) == text


def test_bytes_that_a_given_encoding_does_not_have_are_replaced() -> None:
    found = detect_encoding([b"a,\x81\n"], "cp1252")
    assert (found.codec, found.fault) == ("cp1252", 2)
    assert b"a,\x81\n".decode(found.codec, found.errors) == "a,\ufffd\n"
