"""Takes the pictures that the browser tests left in test-output/tab into the documentation.

    pytest tests/tab && pip install pillow && python docs/images/update.py
"""

from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
PICTURES = HERE.parents[1] / "test-output" / "tab"

for picture in sorted(PICTURES.glob("*.png")):
    # 256 colours are enough for a flat page and a third of the size.
    flat = Image.open(picture).convert("RGB").quantize(colors=256, dither=Image.Dither.NONE)
    flat.save(HERE / picture.name, optimize=True)
    print(f"{picture.name}: {(HERE / picture.name).stat().st_size // 1024} KB")
