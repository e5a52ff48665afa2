"""Where the models of the repository are."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"
DIGITS = ROOT / "examples" / "digits" / "digits_int8.tflite"
CORPUS = pathlib.Path(os.environ.get("MODELC_CORPUS", ROOT.parent / "shared" / "models"))
