"""Images made small, upright and still, and bombs that never unfold."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from reactagent_tui.core.tools.picture import LARGEST, LONGEST_SIDE, PictureError, as_picture


def encoded(image: Image.Image, kind: str, **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format=kind, **more)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_small_image_stays_as_it_is_to_the_byte(kind: str) -> None:
    data = encoded(Image.new("RGB", (64, 48), "red"), kind)
    picture = as_picture(data)
    assert picture.data == data
    assert (picture.size, picture.was) == ((64, 48), (64, 48))


@pytest.mark.parametrize(
    ("kind", "mode", "media"),
    [
        ("PNG", "RGBA", "image/png"),
        ("PNG", "P", "image/png"),
        ("PNG", "1", "image/png"),
        ("PNG", "I;16", "image/png"),
        ("JPEG", "RGB", "image/jpeg"),
        ("JPEG", "CMYK", "image/jpeg"),
        ("WEBP", "RGBA", "image/png"),
        ("GIF", "P", "image/png"),
    ],
)
def test_a_large_image_is_scaled_down(kind: str, mode: str, media: str) -> None:
    picture = as_picture(encoded(Image.new(mode, (3000, 1500)), kind))
    assert (picture.media_type, picture.size, picture.was) == (media, (LONGEST_SIDE, 784), (3000, 1500))
    assert opened(picture.data).size == picture.size
    assert len(picture.data) <= LARGEST


def test_noise_that_stays_large_as_png_becomes_jpeg() -> None:
    noise = Image.frombytes("RGB", (1568, 1500), bytes(i * i * 2654435761 >> 13 & 255 for i in range(1568 * 1500 * 3)))
    data = encoded(noise, "PNG", compress_level=0)
    assert len(data) > LARGEST
    picture = as_picture(data)
    assert len(picture.data) <= LARGEST
    assert opened(picture.data).size == (1568, 1500)


def test_a_picture_that_its_camera_turned_stands_upright() -> None:
    image = Image.new("RGB", (40, 20), "white")
    image.paste((255, 0, 0), (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn right by a quarter
    picture = as_picture(encoded(image, "JPEG", exif=exif, quality=95))
    shown = opened(picture.data)
    assert shown.size == (20, 40)
    top, bottom = shown.convert("RGB").getpixel((10, 4)), shown.convert("RGB").getpixel((10, 36))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert top[1] < 80 < bottom[1]
    assert opened(picture.data).getexif().get(0x0112, 1) == 1, "and is not turned again"


@pytest.mark.parametrize(("side", "media"), [(60, "image/gif"), (2000, "image/png")])
def test_of_a_moving_gif_the_first_frame_is_kept(side: int, media: str) -> None:
    frames = [Image.new("RGB", (side, side), color) for color in ("red", "blue", "green")]
    picture = as_picture(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    shown = opened(picture.data)
    assert picture.media_type == media
    assert getattr(shown, "n_frames", 1) == 1
    assert shown.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_a_bomb_is_refused_by_its_header() -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1_000_000)))
    with pytest.raises(PictureError, match="60000×60000"):
        as_picture(data)


@pytest.mark.parametrize("data", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
def test_what_is_no_image_says_so(data: bytes) -> None:
    with pytest.raises(PictureError):
        as_picture(data)


def test_a_large_image_that_is_cut_off_is_broken() -> None:
    data = encoded(Image.effect_noise((2000, 2000), 50), "PNG")
    with pytest.raises(PictureError, match="broken"):
        as_picture(data[: len(data) // 2])
